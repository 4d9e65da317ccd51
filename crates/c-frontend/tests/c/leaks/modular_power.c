// Square and multiply over the bits that a secret has.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    uint32_t all = 1, base = x[0];
    for (uint32_t e = y; e > 0; e >>= 1) { // leak: how often this loop runs
        if (e & 1)
            all *= base;
        base *= base;
    }
    r[0] = all;
}
