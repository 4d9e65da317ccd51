// A local array that is larger than any may be.
#include <phineus.h>
PH_SIZE(N, 2147483648)
PH_MAIN PH_OUT(b) int32_t f(PH_IN(a) int32_t x, PH_IN(b) int32_t q) // leak: this array has 2 GiB or more
{
    int32_t s[N];
    for (uint64_t i = 0; i < N; i++)
        s[i] = x ^ q;
    return s[q & 1];
}
