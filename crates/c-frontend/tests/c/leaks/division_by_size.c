// A division by a public zero that LLVM sees.
#include <phineus.h>
PH_SIZE(N, 8)
PH_MAIN void f(PH_IN(a) int s,
               PH_OUT(a) int *r) // leak: such as a division by a public zero
{
    *r = s / (N - 8);
}
