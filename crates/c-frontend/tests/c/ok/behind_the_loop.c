// What a loop left half done in its last iteration.
#include <phineus.h>
#define N 8
PH_MAIN void f(PH_IN(a) const uint32_t a[N], PH_IN(b) const uint32_t b[N], PH_OUT(b) uint32_t r[6])
{
    uint32_t s = 0, t, i = 0;
    do {
        t = s + a[i];
        if (i & 1)
            t += 5;
        s = t + b[i];
    } while (++i < N);
    r[0] = t;
    r[1] = s;
    uint32_t best = ~0u, at = 0, before, k = 0;
    do {
        before = best;
        if (a[k] < best) {
            best = a[k];
            at = k;
        }
    } while (++k < N);
    r[2] = before;
    r[3] = at;
    // The greatest or the least, said the other way round.
    uint32_t least = ~0u;
    for (uint32_t j = 0; j < N; j++)
        if (!(a[j] < least))
            at = j;
        else
            least = a[j];
    r[4] = least;
    r[5] = at;
}
