// A function that does not return what it should: clang's own message.
#include <phineus.h>
PH_MAIN PH_OUT(a) uint32_t f(PH_IN(a) uint32_t x)
{
    x++;
} // leak: non-void function does not return a value
