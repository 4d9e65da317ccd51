// What is revealed only if a secret says so tells the secret.
#include <phineus.h>
PH_MAIN PH_OUT(a) uint32_t f(PH_IN(a) uint32_t x, PH_IN(b) uint32_t y)
{
    uint32_t r = 0;
    if (x > y)
        r = ph_reveal(y); // leak: tells the secret
    return r;
}
