// Both exits of a loop are secret.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    uint32_t i = 0;
    while (x[i & 7] != y) { // leak: how often this loop runs
        if (x[i & 7] == 0)
            break;
        i++;
    }
    r[0] = i;
}
