// The sums of a linear regression.
#include <phineus.h>
PH_SIZE(N, 70)
struct point { int32_t x; };
struct sums { int64_t x, y, xx, xy; };
PH_MAIN void regression(PH_IN(a) PH_RANGE(-1000, 1000) const struct point p[N],
                        PH_IN(b) PH_RANGE(-1000, 1000) const int32_t q[N], PH_OUT(a, b) struct sums *s)
{
    struct sums all = {0};
    for (int i = 0; i < N; i++) {
        all.x += p[i].x;
        all.y += q[i];
        all.xx += (int64_t)p[i].x * p[i].x;
        all.xy += (int64_t)p[i].x * q[i];
    }
    *s = all;
}
