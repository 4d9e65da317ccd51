// A result that nobody learns.
#include <phineus.h>
PH_MAIN uint32_t f(PH_IN(a) uint32_t x) // leak: nobody learns what 'f' returns
{
    return x;
}
