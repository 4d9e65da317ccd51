// Functions of numbers that there are not.
#include <math.h>
#include <phineus.h>
PH_MAIN PH_OUT(a) double f(PH_IN(a) double x, PH_IN(b) double y)
{
    double power = pow(x, y); // leak: pow
    double rest = fmod(x, 3.0); // leak: fmod
    return power + rest + fma(x, y, 1.0); // leak: fma
}
