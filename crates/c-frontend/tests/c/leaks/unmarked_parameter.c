// A parameter that says nothing.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8],
               const uint32_t y[8], // leak: who brings or learns 'y'?
               PH_OUT(a) uint32_t *r)
{
    *r = x[0] + y[0];
}
