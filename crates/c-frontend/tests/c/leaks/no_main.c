// Nothing says which function it is.
#include <phineus.h>
static int twice(int x) { return 2 * x; }
void compute(const uint32_t x[8], uint32_t *r) // leak: write PH_MAIN before it
{
    *r = twice(x[0]);
}
