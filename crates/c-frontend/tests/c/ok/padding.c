// What random programs found: padding in words that LLVM moves, copies and secret writes in loops
// that could run in lanes, two secret indices that mean one place, a bound behind a `!`.
#include <phineus.h>
struct padded { int32_t f; int64_t g[2]; uint32_t h; };
PH_MAIN void padding(PH_IN(a) const uint32_t x[8], PH_IN(a) const int8_t *n,
                     PH_IN(b) PH_RANGE(0, 40) const int16_t y[8], PH_OUT(a, b) uint64_t r[40])
{
    struct padded s = {y[4], {y[6], 5}, x[0]}, t = {y[6], {*n, 5}, y[0]};
    t.h *= s.g[*n & 1] + 48;
    { struct padded u = s; u.g[0]++; s = u; }
    if (x[1] % 3 > 0)
        t = s;
    r[0] = s.f + s.g[0] + s.h;
    r[1] = t.f;
    r[2] = t.g[0];
    r[3] = t.h;
    uint32_t a[8];
    for (int i = 0; i < 8; i++)
        a[i] = x[i];
    for (int i = 0; i < 4; i++) {
        memmove(a + 1, a, 5 * sizeof *a);
        r[4 + i] = x[i] + y[i];
    }
    int16_t b[8] = {0};
    for (int i = 0; i < 8; i++)
        b[(i & y[i]) & 7] = x[7 - i];
    uint16_t c[8];
    for (int i = 0; i < 8; i++)
        c[i] = y[i];
    uint16_t *p = c;
    if (x[2] != 5 && x[3] != 7)
        p += x[4] & 1 ? 3 : 0;
    if (y[3] & 1)
        p++;
    p[1] += p[3];
    int32_t d[8];
    for (int i = 0; i < 8; i++)
        d[i] = y[i];
    for (int i = 0; i < 8 && (y[0] >= y[1] & y[1] > 3); i++)
        d[i] = d[7 - i] ^ y[0];
    for (int i = 0; i < 8; i++) {
        r[8 + i] = a[i];
        r[16 + i] = b[i];
        r[24 + i] = c[i];
        r[32 + i] = d[i];
    }
}
