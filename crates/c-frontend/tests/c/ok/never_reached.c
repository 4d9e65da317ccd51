// Paths that C says are never taken, behind loops.
#include <phineus.h>
PH_SIZE(N, 8)
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    uint32_t k = y & 3;
    for (int i = 0; i < 8; i++) r[i] = x[i];
    if (k == 4) { for (int i = 0; i < N; i++) r[i] = 0; __builtin_unreachable(); }
    if (k == 5) { int i = 0; while (i < N) { r[i] = 0; i++; } __builtin_unreachable(); }
    if (k == 6) { int i = 0; do { r[i] = x[i]; i++; } while (i < N);  __builtin_unreachable(); }
    if (N == 9) { for (int i = 0; i < N; i++) r[i] = 0; __builtin_unreachable(); }
    if (ph_reveal(k > 8)) { for (int i = 0; i < N; i++) r[i] += 1; __builtin_unreachable(); }
    r[1] += k;
}
