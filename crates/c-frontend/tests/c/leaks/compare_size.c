// A comparison of as many bytes as a secret says: the mistake is one of the call.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const char x[8], PH_IN(b) const char y[8], PH_IN(b) uint8_t n,
               PH_OUT(a) uint32_t *r)
{
    *r = memcmp(x, y, n & 7) == 0; // leak: how often this loop runs depends on a secret
}
