// Loops with dependences: prefix sums, a recurrence, a stencil in place, one that overlaps.
#include <phineus.h>
PH_SIZE(N, 50)
PH_MAIN void dependent(PH_IN(a) const uint32_t x[N], PH_OUT(a) uint32_t r[N], PH_OUT(a) uint32_t t[N])
{
    uint32_t state = 1;
    for (int i = 0; i < N; i++) {
        state = state * 5 + x[i];
        r[i] = state;
    }
    for (int i = 0; i < N; i++)
        t[i] = x[i];
    for (int i = 1; i + 1 < N; i++)
        t[i] = t[i - 1] + t[i + 1];
    for (int i = 0; i + 4 < N; i++)
        t[i + 4] ^= t[i];
    for (int i = 0; i < N; i++)
        r[i / 2] += x[i];
}
