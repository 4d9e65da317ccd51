// A write to a constant.
#include <phineus.h>
static const uint32_t table[2] = {1, 2};
static __attribute__((noinline)) void set(uint32_t *to, uint32_t y)
{
    *to = y; // leak: writes to a constant
}
PH_MAIN void f(PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[2])
{
    set((uint32_t *)table, y);
    r[0] = table[0];
    r[1] = table[1];
}
