// Addresses are kept whole in memory.
#include <phineus.h>
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[4], PH_IN(b) uint32_t y)
{
    const uint32_t *p = x + 1, *q;
    for (size_t i = 0; i < sizeof p; i++)
        ((char *)&q)[i] = ((char *)&p)[i]; // leak: this takes an address apart
    struct { const uint32_t *p; uint64_t n; } *kept = calloc(1, sizeof *kept);
    kept->p = x;
    if (y == 7) // leak: a secret decides whether this is an address
        *(uint64_t *)&kept->p = x[2];
    return *q + y + kept->p[1];
}
