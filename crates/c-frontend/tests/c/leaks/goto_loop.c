// A loop by goto.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
again:
    r[0] += y & 1;
    y >>= 1;
    if (y) // leak: how often this loop runs
        goto again;
}
