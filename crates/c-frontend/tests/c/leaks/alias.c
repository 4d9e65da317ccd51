// A function under another name, which only a linker knows.
#include <phineus.h>
uint32_t twice(uint32_t x) { return 2 * x; }
uint32_t doubled(uint32_t x) __attribute__((alias("twice")));
PH_MAIN void f(PH_IN(a) uint32_t x, PH_OUT(a) uint32_t *r)
{
    *r = doubled(x); // leak: is not supported
}
