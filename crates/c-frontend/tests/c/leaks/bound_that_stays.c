// The public part of the condition never changes, so that only the secret ends the loop.
#include <phineus.h>
static int limit = 20;
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) uint32_t x, PH_IN(b) uint32_t y)
{
    uint32_t steps = 0;
    while (limit > 3 && x > y) { // leak: how often this loop runs depends on a secret
        x -= y;
        steps++;
    }
    return steps;
}
