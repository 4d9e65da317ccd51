// A result that is not set in all rows.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y,
    PH_OUT(a, b) uint32_t r[8] // leak: row 7 of 'r' is never set
    )
{
    for (int i = 0; i < 7; i++)
        r[i] = x[i] + y;

}
