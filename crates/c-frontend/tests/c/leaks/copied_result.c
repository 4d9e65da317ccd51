// A result that is only a copy.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) uint32_t x,
               PH_OUT(a) uint32_t r) // leak: 'r' is a copy
{
    r = x;
}
