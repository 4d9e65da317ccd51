// An array that each iteration has for itself, and a function called in lanes.
// instructions: 28
#include <phineus.h>
PH_SIZE(N, 40)
static uint32_t median(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t v[3] = {a, b, c};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (v[j] > v[j + 1]) { uint32_t t = v[j]; v[j] = v[j + 1]; v[j + 1] = t; }
    return v[1];
}
PH_MAIN void scratch(PH_IN(a) const uint32_t x[N], PH_IN(b) const uint32_t y[N], PH_OUT(a) uint32_t r[N])
{
    uint32_t tmp[3];
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 3; j++)
            tmp[j] = x[i] >> j * 4 ^ y[i];
        r[i] = median(tmp[0], tmp[1], tmp[2]);
    }
    r[0] += tmp[2];
}
