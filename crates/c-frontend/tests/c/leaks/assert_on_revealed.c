// Stopping is not a result, also where everybody knows why.
#include <phineus.h>
#include <assert.h>
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) uint32_t x, PH_IN(b) uint32_t y)
{
    assert(ph_reveal(x != 3)); // leak: whether this assertion holds is opened when it runs
    if (ph_reveal(x > y)) // leak: stops
        abort();
    return y - x;
}
