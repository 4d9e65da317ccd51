// A null pointer that is read on a public way, of which LLVM leaves nothing.
#include <phineus.h>
PH_SIZE(N, 8)
PH_MAIN void f(PH_IN(a) const int x[N], PH_OUT(a) int *r)
{
    int *p = 0;
    *r = x[0];
    if (N > 4)
        *r = *p; // leak: never returns from here
}
