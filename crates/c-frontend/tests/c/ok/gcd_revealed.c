// Euclid: everybody learns how many steps it takes.
#include <phineus.h>
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) uint32_t a, PH_IN(b) uint32_t b)
{
    while (ph_reveal(b != 0)) {
        uint32_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}
