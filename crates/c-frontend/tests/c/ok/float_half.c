// Numbers of 16 bits: opened, computed in float, and rounded where they are assigned.
#include <phineus.h>
PH_SIZE(N, 20)
PH_MAIN void f(PH_IN(a) const _Float16 x[N], PH_IN(b) const _Float16 y[N], PH_OUT(a) _Float16 result[N][3],
    PH_OUT(a) float wide[N])
{
    for (int i = 0; i < N; i++) {
        _Float16 product = x[i] * y[i];
        result[i][0] = ph_reveal(x[i]);
        result[i][1] = product + y[i] * x[0];
        result[i][2] = ph_reveal((_Float16)(x[i] / 8)) - y[i];
        wide[i] = ph_reveal((float)y[i]) * x[i];
    }
}
