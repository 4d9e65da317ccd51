// Loops with a public bound and a secret one, which LLVM makes a comparison with the least or the
// largest of both.
#include <phineus.h>
PH_SIZE(N, 8)
PH_MAIN void bounded(PH_IN(a) const int32_t x[N], PH_IN(b) PH_RANGE(0, 12) int32_t s,
                     PH_IN(b) PH_RANGE(0, 8) uint8_t u, PH_OUT(a, b) int32_t r[9])
{
    int32_t t = 0;
    for (int i = 0; i < N && i < s; i++) t += x[i];
    r[0] = t;
    for (int i = 0; i < s && i < N; i++) t ^= x[i];
    r[1] = t;
    for (int i = 0; i < N; i++) { if (i >= s) break; t += x[i] * 3; }
    r[2] = t;
    for (int i = 0; i < N; i++) { if (i > s) break; t -= x[i]; }
    r[3] = t;
    int j = 0;
    while (j < N && j < u) t += x[j++];
    r[4] = t + j;
    j = 0;
    do { t += x[j]; j++; } while (j < N && j < s);
    r[5] = t + j;
    for (unsigned k = 0; k < N && k < 2u * u; k++) t += x[k] & k;
    r[6] = t;
    for (int i = N - 1; i >= 0 && i > s; i--) t ^= x[i];
    r[7] = t;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < N && i < s && i < u; i++) t += x[i] - k;
    r[8] = t;
}
