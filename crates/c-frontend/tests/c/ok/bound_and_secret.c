// Loops whose one condition is a public bound and a secret.
#include <phineus.h>
static uint32_t root(uint32_t value)
{
    uint32_t result = value;
    for (int i = 0; i < 12 && result != 0; ++i)
        result = (result + value / result) >> 1;
    return result;
}
static uint32_t power(uint32_t base, uint32_t exponent, uint32_t modulus)
{
    uint32_t result = 1;
    for (int i = 0; i < 5 && exponent; i++, exponent >>= 1) {
        if (exponent & 1)
            result = result * base % modulus;
        base = base * base % modulus;
    }
    return result;
}
PH_MAIN void f(PH_IN(a) PH_RANGE(0, 4000) uint32_t x, PH_IN(b) PH_RANGE(0, 31) uint8_t y, PH_OUT(a, b) uint32_t r[4])
{
    r[0] = root(x);
    r[1] = power(x, y, 251);
    int i = 0;
    do {
        r[2] = i * x;
        i++;
    } while (i < 6 && r[2] < y);
    /* Of two turns LLVM keeps no index, but whether it is the first: it leaves by `i & 1` there. */
    r[3] = x;
    for (int k = 0; k < 2 && x < y; k++) {
        if (k & 1)
            break;
        r[3] += k + 5;
    }
}
