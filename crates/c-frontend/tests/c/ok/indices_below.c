// Secret indices that count down from a place in the middle.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint8_t x[256], PH_IN(b) PH_RANGE(-3, 3) int8_t d, PH_IN(b) int8_t s, PH_OUT(b) uint8_t r[8])
{
    const uint8_t *middle = x + 128;
    r[0] = middle[s];
    r[1] = x[10 + d];
    r[2] = x[10 - (long)d];
    uint8_t seen[8] = {0};
    uint8_t *at = seen + 4;
    at[d] = 9;
    for (int i = 0; i < 5; i++)
        r[3 + i] = seen[i + 2];
}
