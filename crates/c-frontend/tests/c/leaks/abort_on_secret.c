// The program stops or not, by a secret.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    if (y == 0) // leak: whether the program stops here depends on a secret
        abort();
    r[0] = x[0] / y;
}
