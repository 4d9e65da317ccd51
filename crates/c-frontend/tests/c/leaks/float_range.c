// A range of a floating-point number.
#include <phineus.h>
PH_MAIN PH_OUT(a) float f(PH_IN(a) PH_RANGE(0, 100) float x) // leak: 'x' is floating point and has a range
{
    return x * x;
}
