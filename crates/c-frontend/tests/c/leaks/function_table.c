// A table of functions at a secret index.
#include <phineus.h>
static uint32_t twice(uint32_t x) { return 2 * x; }
static uint32_t thrice(uint32_t x) { return 3 * x; }
static uint32_t (*const table[2])(uint32_t) = {twice, thrice};
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    r[0] = table[y & 1](x[0]); // leak: which function this is depends on a secret
}
