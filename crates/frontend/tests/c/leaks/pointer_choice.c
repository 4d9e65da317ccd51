// Which of two arrays is read is a secret.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    uint32_t other[8] = {0};
    other[y & 7] = 1;
    const uint32_t *p = x;
    if (y > 3) // leak: which address this is depends on a secret
        p = other;
    for (int i = 0; i < 8; i++)
        r[i] = p[i];
}
