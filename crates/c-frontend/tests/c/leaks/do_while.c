// A loop with its condition at the end.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    do {
        r[0]++;
        y /= 2;
    } while (y != 0); // leak: how often this loop runs
}
