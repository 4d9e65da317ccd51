// A range that its type does not hold.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) PH_RANGE(0, 300) const uint8_t x[2], // leak: does not fit its type
               PH_OUT(a) uint32_t *r)
{
    *r = x[0];
}
