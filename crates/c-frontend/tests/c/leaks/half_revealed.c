// One of two conditions is revealed, the loop ends by the other.
#include <phineus.h>
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) uint32_t x, PH_IN(b) uint32_t y)
{
    uint32_t steps = ph_reveal(x & 15);
    while (y > 10) { // leak: public bound
        y /= 2;
        steps++;
    }
    return steps;
}
