// A matrix product row by row of the second matrix, in memory; a bias is added afterwards.
#include <phineus.h>
PH_SIZE(N, 10)
PH_SIZE(K, 7)
PH_SIZE(M, 13)
PH_MAIN void product(PH_IN(alice) const uint32_t a[N][K], PH_IN(bob) const uint32_t b[K][M],
                     PH_IN(bob) const uint32_t bias[M], PH_OUT(alice, bob) uint32_t c[N][M])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            c[i][j] = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < M; j++)
                c[i][j] += a[i][k] * b[k][j];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            c[i][j] += bias[j];
}
