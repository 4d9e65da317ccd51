// A floating point parameter.
#include <phineus.h>
PH_MAIN void f(
    PH_IN(a) const float *x,
    PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = (uint32_t)(*x < 0 ? -*x : *x) + i;

}
