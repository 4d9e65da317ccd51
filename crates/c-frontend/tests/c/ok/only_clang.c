// What clang knows and other compilers may not.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[4], PH_IN(b) const int32_t y[4], PH_OUT(a, b) uint32_t r[4], PH_OUT(b) uint32_t z[4])
{
    for (int i = 0; i < 4; i++) {
        unsigned _BitInt(24) a = (unsigned _BitInt(24))x[i];
        _BitInt(7) b = (_BitInt(7))y[i];
        a = a * a + 3;
        b = b - 1;
        r[i] = (uint32_t)a + (uint32_t)(int)b;
        z[i] = __builtin_bitreverse32(x[i]) ^ __builtin_rotateleft32(x[i], 7);
    }
}
