// Addresses at secret indices, stored in structures, differ between paths and iterations.
#include <phineus.h>
struct holder { uint32_t n; uint32_t *p; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y)
{
    uint32_t v[8]; for (int i = 0; i < 8; i++) v[i] = x[i];
    struct holder h = { 0 };
    if (ph_reveal(y & 1)) h.p = &v[(y >> 1) & 7]; else h.p = &v[3];
    *h.p += 5;
    uint32_t turns = 0, sum = 0;
    while (ph_reveal(turns < (y & 3))) { sum = sum * 3 + *h.p; h.p = &v[(y >> turns) & 7]; h.p[0] ^= 1; turns++; }
    for (int i = 0; i < 8; i++) sum = sum * 3 + v[i];
    return sum + *h.p;
}
