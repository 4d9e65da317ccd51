// Which array it is is opened when the program runs, beside what else its way does.
#include <phineus.h>
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[4], PH_IN(b) const uint32_t y[4])
{
    const uint32_t *p = x;
    uint32_t sum = 0;
    if (ph_reveal(x[0] < y[0])) {
        p = y;
        sum = x[2] * 3;
    }
    for (int i = 0; i < 4; i++)
        sum += p[i];
    return sum;
}
