// Scalars that a loop hands to each other: what looks like a sum is the sum of every other element,
// or of the elements up to the one before.
#include <phineus.h>
PH_SIZE(N, 13)
PH_MAIN void rotations(PH_IN(a) const int32_t x[N], PH_IN(b) const int32_t y[N],
                       PH_OUT(a, b) int32_t r[18])
{
    int32_t a = 0, b = 1;
    for (int i = 0; i < N; i++) { int32_t t = a; a = b; b = t + x[i]; }
    r[0] = a; r[1] = b;
    // Three, of which two are accumulated.
    int32_t c = 1, d = 2, e = 3;
    for (int i = 0; i < N; i++) { int32_t t = c; c = d ^ x[i]; d = e ^ y[i]; e = t; }
    r[2] = c; r[3] = d; r[4] = e;
    // The one before, and the one that a secret picks.
    int32_t sum = 0, before = 0, picked = 0;
    for (int i = 0; i < N; i++) {
        before = sum;
        sum += x[i];
        if (y[i] & 1) picked = sum;
    }
    r[5] = before; r[6] = sum; r[7] = picked;
    // The best before the last, with the way out at the end.
    int32_t best = INT32_MAX, second = 0;
    int i = 0;
    do {
        second = best;
        best = y[i] < best ? y[i] : best;
    } while (++i < N);
    r[8] = best; r[9] = second;
    // A sum of sums, and one inside that takes the outer one's value.
    int32_t inner = 0, outer = 0;
    for (int j = 0; j < 9; j++) {
        for (int k = 0; k < 5; k++) { int32_t t = inner; inner = outer + x[k]; outer = t + y[j]; }
        outer += inner;
    }
    r[10] = inner; r[11] = outer;
    // One that is handed through from another, unchanged.
    uint32_t p = 7, q = 1;
    for (int j = 0; j < N; j++) { uint32_t t = p; p = q * (uint32_t)(x[j] | 1); q = t; }
    r[12] = (int32_t)p; r[13] = (int32_t)q;
    // A contest whose best so far goes another way through the loop.
    int32_t least = INT32_MAX, at = -1, odd = 0, even = 0;
    for (int j = 0; j < N; j++) {
        int32_t seen;
        if (j & 1) { seen = least; odd += x[j]; } else { seen = y[j]; even ^= x[j]; }
        odd += seen;
        if (x[j] < least) { least = x[j]; at = j; }
    }
    r[14] = least + odd; r[15] = at + even;
    // Two that a secret exchanges before one of them is added to.
    int32_t one = 0, other = 0;
    for (int j = 0; j < N; j++) {
        if (y[j] & 1) { int32_t t = one; one = other; other = t; }
        one ^= x[j];
    }
    r[16] = one; r[17] = other;
}
