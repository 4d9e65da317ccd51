// The same of memory that has no name.
#include <phineus.h>
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) uint32_t x, PH_IN(b) uint32_t y)
{
    uint8_t *v = calloc(2 << 20, 1);
    v[5] = y;
    return v[x]; // leak: a secret index into an object can mean 2097152 elements
}
