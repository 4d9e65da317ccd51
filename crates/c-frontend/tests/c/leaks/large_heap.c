// Heap memory that is larger than any may be: what would be done with it is not tried.
#include <phineus.h>
PH_SIZE(N, 4294967297)
PH_MAIN PH_OUT(b) int32_t f(PH_IN(a) uint8_t x, PH_IN(b) int32_t q)
{
    uint8_t *s = malloc(N); // leak: this is 2 GiB or more
    for (uint64_t i = 0; i < N; i++)
        s[i] = x;
    return s[q & 1];
}
