// Set on one way only, in memory.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    uint32_t *p = malloc(2 * sizeof *p);
    p[0] = y;
    for (int i = 0; i < 2; i++)
        r[i] = p[i] + 1; // leak: a value that is not set
}
