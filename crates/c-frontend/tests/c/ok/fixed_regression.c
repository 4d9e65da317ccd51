// Linear regression in fixed point: slope and intercept of y over x, and the mean error.
#include <phineus.h>
PH_SIZE(N, 24)
PH_MAIN void fit(PH_IN(alice) PH_RANGE(PH_FIXED(-8), PH_FIXED(8)) const ph_fixed x[N],
                 PH_IN(bob) PH_RANGE(PH_FIXED(-8), PH_FIXED(8)) const ph_fixed y[N],
                 PH_OUT(alice, bob) ph_fixed *slope, PH_OUT(alice, bob) ph_fixed *intercept,
                 PH_OUT(bob) ph_fixed *error)
{
    const ph_fixed part = PH_FIXED(1.0 / N);
    int32_t sum_x = 0, sum_y = 0;
    for (int i = 0; i < N; i++) {
        sum_x += x[i];
        sum_y += y[i];
    }
    ph_fixed mean_x = ph_fixed_mul(sum_x, part), mean_y = ph_fixed_mul(sum_y, part);
    ph_fixed_wide xx = 0, xy = 0;
    for (int i = 0; i < N; i++) {
        xx += ph_fixed_product(x[i] - mean_x, x[i] - mean_x);
        xy += ph_fixed_product(x[i] - mean_x, y[i] - mean_y);
    }
    // A hundredth keeps the divisor from 0.
    *slope = ph_fixed_div(ph_fixed_narrow(xy), ph_fixed_narrow(xx) + PH_FIXED(0.01));
    *intercept = mean_y - ph_fixed_mul(*slope, mean_x);
    ph_fixed_wide off = 0;
    for (int i = 0; i < N; i++) {
        ph_fixed d = y[i] - ph_fixed_mul(*slope, x[i]) - *intercept;
        off += d < 0 ? -d : d;
    }
    *error = ph_fixed_mul((ph_fixed)off, part);
}
