// GNU vector types: element-wise work, shuffles and reductions.
#include <phineus.h>
typedef uint32_t v4 __attribute__((vector_size(16)));
PH_MAIN void vectors(PH_IN(a) const uint32_t x[8], PH_IN(b) const uint32_t y[4], PH_OUT(a) uint32_t r[4],
                     PH_OUT(b) uint32_t *sum)
{
    v4 a = {x[0], x[1], x[2], x[3]}, b = {x[4], x[5], x[6], x[7]}, c = {y[0], y[1], y[2], y[3]};
    v4 d = a * b + (c >> 2) - (a ^ c);
    d[1] += a[2];
    v4 m = a > b;
    d = (d & m) | (c & ~m);
    for (int i = 0; i < 4; i++)
        r[i] = d[i];
    *sum = d[0] + d[1] + d[2] + d[3];
}
