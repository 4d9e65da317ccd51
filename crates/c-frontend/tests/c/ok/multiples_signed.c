// Multiples of indices behind a pointer: negative ones, negative indices, and products that wrap.
#include <phineus.h>
struct three { int8_t u[3]; };
static const int16_t squares[40] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144};
PH_MAIN void multiples_signed(PH_IN(a) const uint64_t z[6], PH_IN(b) const int8_t y[6], PH_OUT(a, b) int32_t r[6],
                              PH_OUT(a) int32_t whole[60], PH_OUT(b) int64_t s[6])
{
    int32_t few[60], many[1300], others[60];
    struct three threes[20];
    int32_t *p = few, *q = many;
    struct three *t = threes + 8;
    const int16_t *c = squares;
    for (int i = 0; i < 60; i++) {
        few[i] = 100 * i;
        others[i] = i;
    }
    for (int i = 0; i < 1300; i++)
        many[i] = 7 * i;
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 3; j++)
            threes[i].u[j] = (int8_t)(i * 3 + j);
    for (int i = 0; i < 6; i++) {
        int m = y[i] % 4, n = m < 0 ? -m : m;
        int64_t wide = m;
        r[i] = p[12 - 3 * m] + p[20 + 5 * m] + *(p + 30 + -7 * wide) + t[-2 * m].u[1];
        p[24 - 4 * m] += 3;
        p[-3 * -n] ^= 5;
        int32_t *chosen = m > 0 ? p + 15 : others + 20;
        chosen[-3 * m] = i;
        // Three times this is 1 modulo 2^64, and four times the other one is small.
        uint64_t third = 0xaaaaaaaaaaaaaaabu * (z[i] % 20), quarter = (z[i] & 15) + (1ull << 62);
        r[i] += p[third * 3] + q[quarter * 4];
        q[quarter * 4] += 77;
        q[200 - 9 * m] = i;
        s[i] = q[(z[i] & 63) * 3] + q[60 * n] + c[-3 * -n] + c[12 - 4 * n] + q[200 - 9 * m];
    }
    for (int i = 0; i < 60; i++)
        whole[i] = few[i] + 1000 * others[i] + q[i * 4];
}
