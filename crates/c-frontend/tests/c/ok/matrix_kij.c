// A matrix product as a sum of products of a column and a row; it begins with a bias.
#include <phineus.h>
PH_SIZE(N, 16)
PH_SIZE(K, 16)
PH_SIZE(M, 16)
PH_MAIN void product(PH_IN(alice) const uint16_t a[N][K], PH_IN(bob) const uint16_t b[K][M],
                     PH_IN(bob) const uint32_t bias[M], PH_OUT(alice, bob) uint32_t c[N][M])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            c[i][j] = bias[j];
    for (int k = 0; k < K; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++)
                c[i][j] += (uint32_t)a[i][k] * b[k][j];
}
