// A mean, rounded down, and how many are above it.
#include <phineus.h>
PH_SIZE(N, 33)
PH_MAIN void average(PH_IN(a) PH_RANGE(0, 5000) const uint32_t x[N], PH_OUT(a, b) uint32_t *mean,
                     PH_OUT(b) uint32_t *above)
{
    uint32_t sum = 0, count = 0;
    for (int i = 0; i < N; i++)
        sum += x[i];
    *mean = sum / N;
    for (int i = 0; i < N; i++)
        count += x[i] > *mean;
    *above = count;
}
