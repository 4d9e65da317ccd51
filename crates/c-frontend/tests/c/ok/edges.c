// Branches on the public index: the first and the last iterations differ, the others are lanes.
// instructions: 150
#include <phineus.h>
PH_SIZE(N, 100)
PH_MAIN void edges(PH_IN(alice) const uint32_t x[N], PH_IN(bob) const uint32_t y[N],
                   PH_OUT(alice, bob) uint32_t r[N], PH_OUT(alice) uint32_t *sum)
{
    uint32_t total = 7;
    for (int i = 0; i < N; i++) {
        if (i == 0)
            r[i] = x[i] * 3;
        else if (i < N - 1)
            r[i] = x[i - 1] * y[i] + x[i + 1];
        else
            r[i] = y[i];
        total += i < 50 ? x[i] * y[i] : y[i];
    }
    *sum = total;
}
