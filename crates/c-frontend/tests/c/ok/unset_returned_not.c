// As unset_returned.c, the other way round.
#include <phineus.h>
struct o { bool ok; long v, w; };
PH_MAIN PH_OUT(b) struct o f(PH_IN(a) int x, PH_IN(b) int k)
{
    struct o y;
    y.ok = x <= k;
    if (y.ok)
        y.v = x;
    else
        y.w = x;
    return y;
}
