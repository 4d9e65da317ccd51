// Element-wise work in lanes: masks, indices as numbers, in place, strided and reversed.
// instructions: 1450
#include <phineus.h>
PH_SIZE(N, 200)
PH_MAIN void maps(PH_IN(a) const uint32_t x[N], PH_IN(b) const uint32_t y[N], PH_OUT(a) uint32_t r[N],
                  PH_OUT(b) uint32_t s[N])
{
    for (int i = 0; i < N; i++)
        r[i] = x[i] > y[i] ? x[i] - y[i] : y[i] * 3 + i;
    for (int i = 0; i < N; i++)
        r[i] += 7;
    for (int i = 0; i < N; i++)
        s[i] = 0;
    for (int i = 0; i < N / 2; i++) {
        s[2 * i] = r[N - 1 - i];
        if (x[i] & 1)
            s[2 * i + 1] = r[i] ^ x[2 * i];
    }
    for (int i = 1; i < N; i++)
        s[i] += s[i - 1];
}
