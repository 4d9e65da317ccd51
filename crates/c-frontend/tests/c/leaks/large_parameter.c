// More rows than there can be, which is said before anything else is done.
#include <phineus.h>
PH_SIZE(N, 4294967297)
PH_MAIN PH_OUT(b) int32_t f(PH_IN(a) const int32_t x[N], // leak: 'x' has 4294967297 values, and 2^28 are the most
                            PH_IN(b) int32_t q)
{
    int32_t s = q;
    for (uint64_t i = 0; i < N; i++)
        s += x[i];
    return s;
}
