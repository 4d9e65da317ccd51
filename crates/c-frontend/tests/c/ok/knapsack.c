// A recurrence over weights that are public and values that are not.
#include <phineus.h>
PH_SIZE(N, 5)
static const int weights[5] = {3, 4, 2, 5, 7};
PH_MAIN PH_OUT(a) uint32_t knapsack(PH_IN(a) PH_RANGE(0, 10000) const uint32_t value[N])
{
    uint32_t best[13] = {0};
    for (int i = 0; i < N; i++)
        for (int w = 12; w >= weights[i]; w--)
            if (best[w - weights[i]] + value[i] > best[w])
                best[w] = best[w - weights[i]] + value[i];
    return best[12];
}
