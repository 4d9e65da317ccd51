// C that does not compile: clang's own message.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) uint32_t x, PH_OUT(a) uint32_t *r)
{
    *r = x + ; // leak: expected expression
}
