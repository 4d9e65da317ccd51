// Recursion with a public depth: a sum by halves, and a power.
#include <phineus.h>
PH_SIZE(N, 21)
static uint32_t sum(const uint32_t *x, int n)
{
    return n == 1 ? x[0] : sum(x, n / 2) + sum(x + n / 2, n - n / 2);
}
static uint32_t power(uint32_t x, unsigned n)
{
    if (n == 0)
        return 1;
    uint32_t half = power(x, n / 2);
    return n & 1 ? half * half * x : half * half;
}
PH_MAIN void f(PH_IN(a) const uint32_t x[N], PH_OUT(a) uint32_t r[2])
{
    r[0] = sum(x, N);
    r[1] = power(x[0], 13);
}
