// Short circuits, the comma, the conditional operator, bit tests.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) uint32_t x, PH_IN(b) uint32_t y, PH_IN(b) bool flag, PH_OUT(a) uint32_t r[5])
{
    r[0] = x > 5 && y > 7 || flag;
    r[1] = !x ? y : flag ? x : y / 3;
    r[2] = (x & 1 << 4) && !(y >> 31);
    uint32_t z = 0;
    if ((x > y && (z += 2, x & 1)) || (y & 2 && ++z))
        z += 10;
    r[3] = z;
    r[4] = (x == 0) + (y != 0) - (int)flag;
}
