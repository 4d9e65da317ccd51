// A jump to an address.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const int x[2], PH_OUT(a) int *r)
{
    static void *to[] = {&&one, &&two};
    int k = 0;
    goto *to[x[0] & 1]; // leak: not supported
one:
    k += 3;
two:
    *r = k + x[1];
}
