// Every partial sum of the products is given out, and products are used twice: nothing is
// multiplied again.
#include <phineus.h>
PH_SIZE(N, 16)
PH_MAIN void sums(PH_IN(alice) const uint32_t a[N][N], PH_IN(bob) const uint32_t b[N][N],
                  PH_OUT(alice) uint32_t partial[N][N], PH_OUT(alice) uint32_t sum[N][N],
                  PH_OUT(alice) uint32_t mixed[N][N])
{
    for (int i = 0; i < 2; i++) {
        uint32_t acc[N];
        for (int j = 0; j < N; j++)
            acc[j] = 0;
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++) {
                acc[j] += a[k][j] * b[k][i];
                partial[k][j] = acc[j];
            }
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum[i][j] = mixed[i][j] = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++) {
                uint32_t p = a[i][k] * b[k][j];
                sum[i][j] += p;
                mixed[i][j] ^= p;
            }
}
