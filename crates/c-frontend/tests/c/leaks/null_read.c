// A read through a null pointer at a public place.
#include <phineus.h>
static const uint32_t *nothing = 0;
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    r[0] = *nothing + y; // leak: null pointer
}
