// Least and largest by row in lanes, of signed and unsigned numbers.
#include <phineus.h>
PH_SIZE(N, 40)
PH_SIZE(M, 5)
PH_MAIN void f(PH_IN(a) const int16_t x[N][M], PH_OUT(a) int16_t low[N], PH_OUT(a) uint16_t high[N],
               PH_OUT(b) int32_t *span)
{
    int32_t widest = 0;
    for (int i = 0; i < N; i++) {
        int16_t a = INT16_MAX;
        uint16_t b = 0;
        for (int j = 0; j < M; j++) {
            if (x[i][j] < a)
                a = x[i][j];
            b = (uint16_t)x[i][j] > b ? (uint16_t)x[i][j] : b;
        }
        low[i] = a;
        high[i] = b;
        int32_t own = (int32_t)b - a;
        widest = own > widest ? own : widest;
    }
    *span = widest;
}
