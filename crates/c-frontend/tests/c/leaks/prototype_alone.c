// Annotations before another function's prototype.
#include <phineus.h>
int helper(PH_IN(a) int x); // leak: annotations on 'helper', which is not the computation
PH_MAIN PH_OUT(a) int f(PH_IN(a) int x)
{
    return helper(x);
}
int helper(int x) { return x + 1; }
