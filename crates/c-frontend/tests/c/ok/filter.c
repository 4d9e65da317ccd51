// Compaction: rows that match move to the front, at a secret index.
#include <phineus.h>
PH_SIZE(N, 8)
PH_MAIN void f(PH_IN(a) const uint16_t x[N], PH_IN(b) uint16_t limit, PH_OUT(b) uint16_t out[N],
               PH_OUT(b) uint8_t *count)
{
    uint8_t n = 0;
    for (int i = 0; i < N; i++)
        out[i] = 0;
    for (int i = 0; i < N; i++)
        if (x[i] < limit) {
            out[n] = x[i];
            n++;
        }
    *count = n;
}
