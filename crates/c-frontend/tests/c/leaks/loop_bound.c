// The bound of a loop is a secret.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    for (uint32_t i = 0; i < y; i++) // leak: how often this loop runs depends on a secret
        r[0] += x[i & 7];
}
