// Sums, products, least, largest, and bits over many elements.
#include <phineus.h>
PH_SIZE(N, 300)
PH_MAIN void reductions(PH_IN(a) const uint32_t x[N], PH_IN(b) const int16_t y[N],
                        PH_OUT(a, b) uint32_t r[8], PH_OUT(a, b) int64_t s[3])
{
    uint32_t sum = 3, product = 1, least = UINT32_MAX, ones = ~0u, any = 0, parity = 0, count = 0;
    int64_t total = 0; int32_t most = INT32_MIN, where = -1;
    for (int i = 0; i < N; i++) {
        sum += x[i];
        product *= x[i] | 1;
        least = x[i] < least ? x[i] : least;
        ones &= x[i] | 0xF0;
        any |= x[i] & 0xF;
        parity ^= x[i];
        if (y[i] > 0)
            count++;
        total -= y[i];
    }
    for (int i = 0; i < N; i++)
        if (y[i] % 64 >= most) { most = y[i] % 64; where = i; }
    r[0] = sum; r[1] = product; r[2] = least; r[3] = ones; r[4] = any; r[5] = parity; r[6] = count;
    r[7] = sum - parity; s[0] = total; s[1] = most; s[2] = where;
}
