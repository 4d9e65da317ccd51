// A name that is nowhere: clang's own message.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) uint32_t x, PH_OUT(a) uint32_t *r)
{
    *r = x + nothing; // leak: use of undeclared identifier
}
