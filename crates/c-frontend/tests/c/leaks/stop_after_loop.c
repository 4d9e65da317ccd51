// The program stops or not, by a secret, after it has computed something; and by a trap.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = x[i] + y;
    if (y == 0) { // leak: whether the program stops here depends on a secret
        for (volatile int i = 0; i < 3; i++)
            r[i] = 0;
        abort();
    }
    if (x[1] == 7) // leak: whether the program stops here depends on a secret
        __builtin_trap();
    r[0] = x[0] ^ y;
}
