/* The sum of N * N products of two secret numbers, made from few inputs: N * N triples. */
#include <phineus.h>
PH_SIZE(N, 100)

PH_MAIN void products(PH_IN(alice) const uint8_t a[N], PH_IN(bob) const uint8_t b[N],
                      PH_OUT(alice, bob) uint32_t *sum)
{
    uint32_t total = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            total += (a[j] + i) * (b[j] + i);
    *sum = total;
}
