// A matrix product that ends where an opened partial sum says so.
#include <phineus.h>
PH_SIZE(N, 12)
PH_MAIN void product(PH_IN(alice) const uint32_t a[N][N], PH_IN(bob) const uint32_t b[N][N],
                     PH_OUT(alice) uint32_t c[N][N], PH_OUT(bob) uint32_t e[N])
{
    uint32_t sum[N][N];
    for (int i = 0; i < N; i++) {
        e[i] = 0;
        for (int j = 0; j < N; j++)
            sum[i][j] = 0;
    }
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            for (int j = 0; j < N; j++)
                sum[i][j] += a[i][k] * b[k][j];
            if (ph_reveal(sum[i][0] & 7) == 3) {
                e[i] += sum[i][k];
                break;
            }
        }
        if (ph_reveal(a[i][i] & 1)) {
            for (int j = 0; j < N; j++)
                sum[i][j] ^= 5;
        }
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            c[i][j] = sum[i][j];
}
