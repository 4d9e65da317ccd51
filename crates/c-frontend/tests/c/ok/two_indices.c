// Two secret indices of one place, one of which goes back; and a place that the last turn of a loop chose.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint8_t x[32], PH_IN(a) PH_RANGE(8, 20) const uint8_t forth[6],
               PH_IN(b) PH_RANGE(-8, 8) const int8_t by[6], PH_OUT(b) uint8_t r[52])
{
    uint8_t seen[32] = {0};
    int n = 0;
    for (int k = 0; k < 6; k++) {
        const uint8_t *at = x + forth[k];
        int64_t i = forth[k], j = by[k];
        r[n++] = at[by[k]];
        r[n++] = x[i + j];
        (seen + forth[k])[by[k]] = k + 1;
    }
    for (int k = 0; k < 32; k++)
        r[n++] = seen[k];
    const uint8_t *last;
    uint32_t k = 0, sum = 0;
    do {
        last = x + forth[k];
        sum += *last;
    } while (++k < 6);
    r[n++] = *last;
    r[n++] = sum;
    const uint8_t (*rows)[4] = (const uint8_t (*)[4])x;
    for (k = 0; k < 6; k++)
        r[n++] = rows[forth[k] / 4][by[k] & 3];
}
