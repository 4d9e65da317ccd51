// A matrix product: lanes are rows.
// instructions: 117
#include <phineus.h>
PH_SIZE(N, 9)
PH_SIZE(K, 5)
PH_SIZE(M, 7)
PH_MAIN void product(PH_IN(alice) const uint32_t a[N][K], PH_IN(bob) const uint32_t b[K][M],
                     PH_OUT(alice, bob) uint32_t c[N][M])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            uint32_t sum = 0;
            for (int k = 0; k < K; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}
