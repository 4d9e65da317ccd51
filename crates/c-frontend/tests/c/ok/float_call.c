// A constant that is floating point, for a function of the library.
#include <phineus.h>
double sqrt(double);
PH_MAIN PH_OUT(a) int32_t f(PH_IN(a) int32_t x)
{
    return x * (int32_t)sqrt(16);
}
