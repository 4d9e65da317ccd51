// One of many addresses, and which one would be known only when the program runs.
#include <phineus.h>
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[100], PH_IN(b) uint32_t most)
{
    const uint32_t *p = x;
    uint32_t sum = 0;
    while (ph_reveal(sum < most)) // leak: which address this is
        sum += *p++;
    return sum;
}
