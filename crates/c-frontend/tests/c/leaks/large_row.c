// More columns than there can be.
#include <phineus.h>
PH_MAIN PH_OUT(b) int32_t f(PH_IN(a) const int32_t x[2][2000000], // leak: a row of 'x' has 2000000 columns
                            PH_IN(b) int32_t q)
{
    return x[0][1] + x[1][1999999] + q;
}
