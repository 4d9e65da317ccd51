// A loop that an opened integer ends, in another one, is left by a secret.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const int32_t x[4], PH_IN(b) int32_t y, PH_OUT(a, b) int32_t *r)
{
    int n = ph_reveal((uint8_t)(x[0] & 7)), s = y;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            s += i * 10 + j;
            if (x[1] > s) // leak: how often this loop runs depends on a secret
                break;
        }
    *r = s;
}
