// Rows are appended where a secret says so: the place counts, and the writes are conditional, also in nested branches, in
// both arms, one after another, and through a copy.
#include <phineus.h>
PH_MAIN void compaction(PH_IN(a) const uint8_t x[12], PH_IN(b) const uint8_t y[12], PH_OUT(a, b) uint16_t found[14],
                        PH_OUT(a) uint16_t others[14], PH_OUT(b) uint32_t *count, PH_OUT(a, b) uint16_t copied[14])
{
    uint16_t copy[14] = {0}, list[36] = {0};
    int n = 0, m = 0;
    uint32_t k = 0;
    for (int i = 0; i < 14; i++)
        found[i] = others[i] = 0;
    for (int i = 0; i < 12; i++) {
        if (x[i] > y[i]) {
            found[n] = x[i] * 2;
            if (x[i] & 1) {
                found[n] += y[i];
                list[k * 3 + 1] = x[i];
                k++;
            } else
                others[m] = y[i] + 7;
            n++;
        } else if (y[i] & 4) {
            others[m++] = x[i];
            found[y[i] % 14] ^= 1;
        } else {
            found[x[i] % 11] = others[y[i] % 9];
            copy[3] = found[3];
        }
        if (x[i] & 2)
            copy[i] = found[i];
        else
            copy[(x[i] >> 4) % 14] = found[y[i] & 7];
        if (n > 9)
            break;
    }
    for (int i = 0; i < 14; i++)
        copied[i] = copy[i] + list[i * 2];
    *count = n + 100 * m + 10000 * k;
}
