// Arrays that a loop sets inside what a secret decides: not set before, or of addresses, set in
// part, or gone when both paths meet.
#include <phineus.h>
#include <stdlib.h>
static uint32_t in_function(const uint32_t *x, uint32_t k)
{
    uint32_t d[8];
    for (int i = 0; i < 8; i++) d[i] = x[i] ^ k;
    for (int i = 0; i < 8; i++) k += d[7 - i] * 3;
    return k;
}
PH_MAIN void scratch_in_arms(PH_IN(a) const uint32_t x[8], PH_IN(b) const int16_t y[8],
                             PH_OUT(a, b) uint64_t r[8])
{
    for (int i = 0; i < 8; i++) r[i] = x[i];
    if (y[0] & 1) {
        uint32_t d[8];
        for (int i = 0; i < 8; i++) d[i] = x[i] * y[i];
        for (int i = 0; i < 8; i++) r[i] += d[7 - i];
    }
    if (y[1] & 1) {
        uint32_t *p[8];
        for (int i = 0; i < 8; i++) { p[i] = malloc(4); *p[i] = x[i] + y[i]; }
        for (int i = 0; i < 8; i++) r[i] += *p[7 - i];
    }
    if (y[2] & 1) r[0] += in_function(x, y[3]); else r[1] ^= in_function(x, y[4]);
    uint16_t part[8];
    for (int i = 0; i < 3; i++) part[i] = i;
    if (y[3] & 1)
        for (int i = 0; i < 8; i++) part[i] = y[i];
    else
        for (int i = 2; i < 8; i++) part[i] = x[i];
    for (int i = 0; i < 8; i++) r[i] ^= part[i];
    for (int k = 0; k < 8; k++) {
        uint32_t own[4];
        if (y[k] & 1) {
            for (int i = 0; i < 4; i++) own[i] = x[i] + k;
            r[k] += own[k & 3];
        }
    }
}
