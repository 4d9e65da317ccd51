// Nobody learns anything.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8]) // leak: nobody learns anything
{
    (void)x;
}
