// A structure that is returned by value, of which a field is set only where a secret says so.
#include <phineus.h>
struct o { bool ok; int v; };
PH_MAIN PH_OUT(b) struct o f(PH_IN(a) int x, PH_IN(b) int k)
{
    struct o y;
    y.ok = x > k;
    if (y.ok)
        y.v = x;
    return y;
}
