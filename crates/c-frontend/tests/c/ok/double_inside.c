// Double precision inside.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    double half = y / 2.0;
    r[0] = half > 3.0;
}
