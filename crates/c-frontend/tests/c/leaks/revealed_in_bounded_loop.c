// A secret leaves the loop, so that whether the next turn reveals something tells it.
#include <phineus.h>
PH_MAIN PH_OUT(a) uint32_t f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y)
{
    uint32_t r = 0;
    for (int i = 0; i < 8; i++) {
        if (x[i] == y)
            break;
        r += ph_reveal(x[i] & 1); // leak: tells the secret
    }
    return r;
}
