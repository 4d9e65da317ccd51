// Two layers: what comes out of one product goes into the next; both matrices are turned.
#include <phineus.h>
PH_SIZE(N, 9)
PH_SIZE(K, 10)
PH_SIZE(L, 11)
PH_SIZE(M, 8)
PH_MAIN void layers(PH_IN(alice) const uint64_t a[K][N], PH_IN(bob) const uint64_t b[K][L],
                    PH_IN(bob) const uint64_t c[L][M], PH_OUT(alice) uint64_t d[N][M],
                    PH_OUT(bob) uint64_t first[N])
{
    uint64_t hidden[N][L];
    for (int j = 0; j < L; j++)
        for (int i = 0; i < N; i++) {
            hidden[i][j] = 0;
            for (int k = 0; k < K; k++)
                hidden[i][j] += a[k][i] * b[k][j];
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            uint64_t sum = 1;
            for (int k = 0; k < L; k++)
                sum += hidden[i][k] * c[k][j];
            d[i][j] = sum;
        }
    for (int i = 0; i < N; i++)
        first[i] = hidden[i][0];
}
