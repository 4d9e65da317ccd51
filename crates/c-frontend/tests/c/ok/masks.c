// Branches on secrets in lanes: nested, with stores to two arrays.
// instructions: 60
#include <phineus.h>
PH_SIZE(N, 130)
PH_MAIN void masks(PH_IN(a) const int32_t x[N], PH_IN(b) const int32_t y[N], PH_OUT(a) int32_t r[N],
                   PH_OUT(b) int32_t s[N])
{
    for (int i = 0; i < N; i++) {
        r[i] = 1;
        s[i] = x[i];
        if (x[i] < y[i]) {
            r[i] = y[i] - x[i];
            if (y[i] > 0)
                s[i] = 7;
        } else if (x[i] & 4) {
            s[i] += r[i];
            r[i] = -1;
        }
    }
}
