// Bits that are known to be 0, where something that is all zero is added to a shifted integer: the
// first turn of a square root, and a cleared array.
#include <phineus.h>
PH_SIZE(N, 6)
static uint32_t root(uint64_t v)
{
    uint64_t r = 0, b = 1ull << 62;
    while (b) {
        if (v >= r + b) { v -= r + b; r = (r >> 1) + b; } else { r >>= 1; }
        b >>= 2;
    }
    return r;
}
PH_MAIN void zero_bits(PH_IN(a) const uint64_t x[N], PH_IN(b) const uint8_t y[N],
                       PH_OUT(a, b) uint32_t r[N], PH_OUT(a, b) uint32_t s[N],
                       PH_OUT(a, b) uint64_t t[N])
{
    uint32_t sum[N] = {0}, both[N] = {0}, odd[N] = {0};
    for (int i = 0; i < N; i++) {
        r[i] = root(x[i]);
        sum[i] += (uint32_t)y[i] << 4;
        both[i] |= (uint32_t)y[i] << 9;
        odd[i] = (uint32_t)(y[i] << 3) ^ odd[i];
    }
    for (int i = 0; i < N; i++) {
        s[i] = ((sum[i] >> 2) | (x[i] & 3)) + ((both[i] >> 3) | (x[i] & 63)) * 3 + (odd[i] >> 1);
        t[i] = ((uint64_t)sum[i] << 32 | both[i]) + odd[i];
    }
}
