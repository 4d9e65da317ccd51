// Decimals in and out: conversions, sums, the largest, and a branch on a secret.
#include <math.h>
#include <phineus.h>
PH_SIZE(N, 40)
struct found {
    float sum, mean, largest;
    double deviation;
    int32_t above;
    uint8_t rounded;
    float least_in_size;
};
PH_MAIN PH_OUT(a, b) struct found f(PH_IN(a) const float x[N], PH_IN(b) const double weight[N], PH_IN(b) float limit)
{
    struct found found = {0};
    found.largest = -INFINITY;
    found.least_in_size = NAN;
    for (int i = 0; i < N; i++) {
        found.sum += x[i];
        found.largest = fmaxf(found.largest, x[i]);
        found.least_in_size = fminf(found.least_in_size, fabsf(x[i]));
        if (x[i] > limit)
            found.above += 1;
        else
            found.deviation -= 0.5;
        found.deviation += (double)x[i] * weight[i];
    }
    found.mean = found.sum / N;
    found.deviation = sqrt(found.deviation * found.deviation + 1.0) * 1e-3;
    found.rounded = (uint8_t)fabsf(copysignf(found.mean, -limit));
    return found;
}
