// Which function is called is known only when the program runs.
#include <phineus.h>
static uint32_t one(uint32_t x) { return x + 1; }
static uint32_t two(uint32_t x) { return x * 2; }
static uint32_t (*const TABLE[2])(uint32_t) = { one, two };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[8], PH_IN(b) PH_RANGE(0, 1) uint8_t y)
{
    uint32_t sum = TABLE[ph_reveal(y)](x[2]); // leak: which function this is depends on what is opened when the program runs
    uint32_t (*g[2])(uint32_t) = { one };
    if (ph_reveal(x[0] > x[1])) // leak: which function this is depends on what is opened
        g[0] = two;
    return sum + g[0](y);
}
