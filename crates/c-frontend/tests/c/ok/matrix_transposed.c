// The second matrix lies transposed, the elements are short and signed, and what is negative in the
// end becomes 0.
#include <phineus.h>
PH_SIZE(N, 20)
PH_SIZE(K, 9)
PH_SIZE(M, 12)
PH_MAIN void product(PH_IN(alice) const int8_t a[N][K], PH_IN(bob) const int8_t b[M][K],
                     PH_IN(bob) const int32_t bias[M], PH_OUT(alice, bob) int32_t c[N][M])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            int32_t sum = bias[j];
            for (int k = 0; k < K; k++)
                sum += a[i][k] * b[j][k];
            c[i][j] = sum;
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            c[i][j] = c[i][j] > 0 ? c[i][j] : 0;
}
