// Whole arrays that change from turn to turn, as vectors; swapped registers; a nibble at a time.
#include <phineus.h>
PH_SIZE(N, 200)
struct point { uint32_t x; uint16_t y, z; };
PH_MAIN void f(PH_IN(a) const struct point p[N], PH_IN(b) PH_RANGE(0, 9) uint8_t turns,
               PH_OUT(a, b) struct point q[N], PH_OUT(a) uint32_t *last)
{
    struct point now[N];
    memcpy(now, p, sizeof now);
    int n = ph_reveal(turns), a = 1, b = 1;
    for (int t = 0; t < n; t++) {
        for (int i = 0; i < N; i++) {
            now[i].x = now[i].x * 3 + now[i].y;
            now[i].y ^= (uint16_t)(now[i].z + b);
        }
        int c = a + b;
        a = b;
        b = c;
        if (t == 4)
            memset(&now[1], 0, sizeof now[1]);
    }
    memcpy(q, now, sizeof now);
    *last = (uint32_t)a;
}
