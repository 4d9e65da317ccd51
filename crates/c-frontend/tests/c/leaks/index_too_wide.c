// Arrays that are too large for a secret index, by their names.
#include <phineus.h>
static uint8_t table[3 << 20];
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) uint32_t x, PH_IN(b) uint32_t y)
{
    uint8_t local[2 << 20];
    memset(local, 1, sizeof local);
    local[5] = y;
    uint32_t sum = local[x]; // leak: a secret index into 'local' can mean 2097152 elements, at most 1048576
    return sum + table[y];
}
