// An assertion about a size, which does not hold.
#include <phineus.h>
#include <assert.h>
PH_SIZE(N, 8)
static uint32_t checked(uint32_t x, int n)
{
    assert(n < 8); // leak: this assertion does not hold
    return x + n;
}
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) uint32_t x, PH_IN(b) uint32_t y)
{
    return checked(x, 7) + checked(y, N);
}
