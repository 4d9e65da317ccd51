// Paths that are taken when the program runs: with results in memory, a public flag and an early return.
#include <phineus.h>
static uint32_t rest(uint32_t x, uint32_t y, uint32_t *steps)
{
    if (ph_reveal(x < y)) {
        *steps += 1;
        return y - x;
    }
    *steps += 2;
    return x % (y | 1);
}
PH_MAIN void f(PH_IN(a) const uint32_t x[4], PH_IN(b) const uint32_t y[4],
               PH_OUT(a, b) uint32_t r[4], PH_OUT(b) uint32_t *steps)
{
    uint32_t count = 0, mode = 5;
    for (int i = 0; i < 4; i++) {
        r[i] = rest(x[i], y[i], &count);
        if (ph_reveal((r[i] & 1) != 0)) {
            mode = (uint32_t)i;
            r[i] /= 2;
        } else if (ph_reveal((r[i] & 2) != 0)) {
            r[i] *= x[i];
        }
    }
    switch (ph_reveal(y[0] % 4)) {
    case 0: r[0] += mode; break;
    case 1: r[1] ^= mode * 17; break;
    case 3: r[3] = mode; break;
    default: mode = 9;
    }
    *steps = count * 100 + mode;
}
