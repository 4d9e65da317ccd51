// Sums of products that are added to each other, each many times.
#include <phineus.h>
PH_SIZE(N, 8)
PH_MAIN void sums(PH_IN(alice) const uint32_t a[N][N], PH_IN(bob) const uint32_t b[N][N],
                  PH_OUT(alice) uint32_t c[N])
{
    for (int j = 0; j < N; j++)
        c[j] = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++)
            for (int j = 0; j < N; j++) {
                uint32_t p = a[j][i] * b[k][i];
                uint32_t q = a[j][k] * b[i][k];
                for (int t = 0; t < 22; t++) {
                    uint32_t r = p + q;
                    p = q;
                    q = r;
                }
                c[j] += q;
            }
}
