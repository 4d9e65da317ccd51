// Floating point of 80 bits.
#include <phineus.h>
PH_MAIN PH_OUT(a) int32_t f(PH_IN(a) int32_t x)
{
    long double half = x; // leak: floating point of this format is not supported = use float or double
    return (int32_t)(half * 0.5L); // leak: floating point of this format
}
