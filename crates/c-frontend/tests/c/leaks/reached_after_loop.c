// A place that C says is never reached, and all come to it.
#include <phineus.h>
PH_SIZE(N, 8)
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    if (N == 8) {
        for (int i = 0; i < N; i++) // leak: this comes to a place that C says is never reached
            r[i] = x[i];
        __builtin_unreachable();
    }
    r[0] = y;
}
