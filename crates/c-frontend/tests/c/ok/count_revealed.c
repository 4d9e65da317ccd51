// A loop as long as a secret says, which is opened before it; the index is known only at run time.
#include <phineus.h>
PH_SIZE(N, 12)
PH_MAIN void f(PH_IN(a) const uint16_t x[N], PH_IN(b) PH_RANGE(0, 12) uint32_t count,
               PH_OUT(a, b) uint32_t *sum, PH_OUT(a) uint32_t *weighted)
{
    int n = ph_reveal(count);
    if (n > N)
        n = N;
    uint32_t all = 0, other = 7;
    for (int i = 0; i < n; i++) {
        all += x[i];
        other = other * 3 + (uint32_t)i * x[i];
    }
    *sum = all;
    *weighted = other + (uint32_t)n;
}
