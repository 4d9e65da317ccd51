// A heap object that is too small.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    uint32_t *v = malloc(8);
    v[0] = y; v[1] = 1; v[2] = 2; // leak: out of bounds
    r[0] = v[0];
}
