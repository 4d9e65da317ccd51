// A recursion whose depth is a secret.
#include <phineus.h>
static uint32_t power(uint32_t x, uint32_t n)
{
    if (n == 0)
        return 1;
    return x * power(x, n - 1); // leak: calls itself depends on a secret
}
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    r[0] = power(x[0], y);
}
