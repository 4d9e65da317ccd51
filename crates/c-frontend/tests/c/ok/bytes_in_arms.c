// Paths that write the same words in other pieces: whole in one, a byte in the other.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) uint64_t x, PH_IN(b) uint64_t y, PH_OUT(a, b) uint64_t r[3], PH_OUT(a, b) uint64_t s[3])
{
    for (int i = 0; i < 3; i++)
        r[i] = s[i] = x * (uint64_t)(i + 1);
    if ((x ^ y) & 1)
        r[1] = y;
    else
        ((uint8_t *)r)[9] = (uint8_t)y;
    if (ph_reveal((x & 2) == 0))
        s[1] = y;
    else
        ((uint8_t *)s)[9] = (uint8_t)y;
}
