// Euclid: the number of steps is a secret.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    uint32_t a = x[0], b = y;
    while (b != 0) { // leak: public bound
        uint32_t t = a % b;
        a = b;
        b = t;
    }
    r[0] = a;
}
