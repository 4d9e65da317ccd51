// How long a string is, without a bound.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const char x[8], PH_OUT(a) uint32_t *r)
{
    *r = strlen(x); // leak: give a public bound with strnlen
}
