// A local variable that is gone.
#include <phineus.h>
static uint32_t *volatile kept;
static __attribute__((noinline)) void leave(uint32_t x)
{
    uint32_t own[2] = {x, x};
    kept = own;
}
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    leave(y);
    r[0] = *kept; // leak: does not exist any more
}
