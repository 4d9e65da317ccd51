#include <phineus.h>
/* What only clang has: the plaintext reference is compiled with it, too. */
PH_MAIN void clang_builtins(PH_IN(a) const uint64_t x[4], PH_IN(b) const uint64_t y[4],
                            PH_OUT(a, b) uint64_t mixed[4])
{
    for (int i = 0; i < 4; i++)
        mixed[i] = __builtin_bitreverse64(x[i]) ^ __builtin_rotateleft64(y[i], 13);
}
