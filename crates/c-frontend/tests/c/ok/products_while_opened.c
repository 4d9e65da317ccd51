// Matrix products in loops that go on while an opened value says so: what one turn has packed or
// widened, the next one does not have.
#include <phineus.h>
PH_SIZE(N, 9)
PH_MAIN void powers(PH_IN(alice) const int8_t a[N][N], PH_IN(bob) const int16_t b[N][N],
                    PH_OUT(alice) int32_t c[N][N], PH_OUT(alice) uint32_t *steps)
{
    int32_t x[N][N], y[N][N];
    uint32_t t = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            x[i][j] = a[i][j];
    int go = 1;
    while (go) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                y[i][j] = 0;
                for (int k = 0; k < N; k++)
                    y[i][j] += x[i][k] * b[k][j];
            }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                x[i][j] = y[i][j] >> 3;
        t++;
        go = ph_reveal(t < 4 && (x[0][0] & 3) != 1);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            c[i][j] = x[i][j];
    *steps = t;
}
