// An array whose length is a secret.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    uint32_t v[y]; // leak: size of this array depends on a secret
    for (int i = 0; i < 8; i++)
        v[i] = x[i];
    for (int i = 0; i < 8; i++)
        r[i] = v[7 - i];
}
