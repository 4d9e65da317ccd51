// Steps until a secret is 1.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    uint32_t n = y, steps = 0;
    while (n != 1) { // leak: how often this loop runs
        n = n % 2 ? 3 * n + 1 : n / 2;
        steps++;
    }
    r[0] = steps;
}
