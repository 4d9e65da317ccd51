// Structures that were cleared get pointers in arms.
#include <phineus.h>
struct holder { uint32_t n; uint32_t *p; uint16_t tag; const uint32_t *q; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y)
{
    uint32_t v[8]; for (int i = 0; i < 8; i++) v[i] = x[i];
    struct holder h = { 0 }, *g = calloc(2, sizeof *g), k[2];
    memset(k, 0, sizeof k);
    if (y & 1) { h.p = v + 2; h.n = 1; }
    if (y & 2) g[1].q = x + 3; else g[1].p = v + 1;
    if (y & 4) { k[0].p = v; k[1].q = x; memset(&h, 0, sizeof h); }
    uint32_t sum = h.n + k[0].tag;
    if (h.p) sum += *h.p;
    if (g[1].q) sum += *g[1].q * 3;
    if (g[1].p) sum += *g[1].p * 5;
    if (k[0].p) sum += k[0].p[3] * 7 + k[1].q[5];
    return sum;
}
