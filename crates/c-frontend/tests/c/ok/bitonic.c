// A sorting network over a power of two, with an array as parameter.
#include <phineus.h>
PH_SIZE(N, 16)
static void bitonic(uint32_t *v, int n)
{
    for (int k = 2; k <= n; k *= 2)
        for (int j = k / 2; j > 0; j /= 2)
            for (int i = 0; i < n; i++) {
                int l = i ^ j;
                if (l > i && ((v[i] > v[l]) == ((i & k) == 0))) {
                    uint32_t t = v[i];
                    v[i] = v[l];
                    v[l] = t;
                }
            }
}
PH_MAIN void sort(PH_IN(a) const uint32_t x[N], PH_OUT(a, b) uint32_t y[N])
{
    memcpy(y, x, sizeof *x * N);
    bitonic(y, N);
}
