// Floating point that is computed of constants alone.
#include <phineus.h>
PH_MAIN PH_OUT(a) int32_t f(PH_IN(a) int32_t x)
{
    double d = 1.5;
    for (int i = 0; i < 3; i++)
        d *= 2;
    return x * (int)d;
}
