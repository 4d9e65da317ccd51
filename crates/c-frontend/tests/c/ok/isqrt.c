// A square root by bits, and a quotient by shifts.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) uint32_t x, PH_IN(b) uint16_t d, PH_OUT(a) uint32_t r[2])
{
    uint32_t root = 0;
    for (int bit = 15; bit >= 0; bit--) {
        uint32_t next = root | 1u << bit;
        if ((uint64_t)next * next <= x)
            root = next;
    }
    uint32_t rest = 0, quotient = 0;
    for (int bit = 31; bit >= 0; bit--) {
        rest = rest << 1 | (x >> bit & 1);
        if (rest >= (d | 1u)) {
            rest -= d | 1u;
            quotient |= 1u << bit;
        }
    }
    r[0] = root;
    r[1] = quotient;
}
