// The same where what is opened decides.
#include <phineus.h>
struct holder { uint32_t n; uint32_t *p; uint16_t tag; const uint32_t *q; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y)
{
    uint32_t v[8]; for (int i = 0; i < 8; i++) v[i] = x[i];
    struct holder h = { 0 }, k[2];
    memset(k, 0, sizeof k);
    if (ph_reveal(y & 1)) { h.p = v + 2; h.n = 1; }
    if (ph_reveal(y & 2)) { k[0].p = v; k[1].q = x; memset(&h, 0, sizeof h); }
    uint32_t sum = h.n + k[0].tag, turns = 0;
    while (ph_reveal(turns < (y & 3))) { if (turns == 1) memset(&h, 0, sizeof h); else h.p = v + 4; h.q = k[1].q; turns++; }
    if (h.p) sum += *h.p;
    if (h.q) sum += h.q[1];
    if (k[0].p) sum += k[0].p[3] * 7 + k[1].q[5];
    return sum;
}
