// An array that is larger than any may be.
#include <phineus.h>
static int64_t big[600000000]; // leak: 'big' has 2 GiB or more
PH_MAIN PH_OUT(b) int64_t f(PH_IN(a) uint32_t x, PH_IN(b) int32_t q)
{
    big[7] = x;
    return big[7] + big[599999999] + q;
}
