// The program ends by a size.
#include <phineus.h>
PH_SIZE(N, 8)
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) uint32_t x, PH_IN(b) uint32_t y)
{
    if (N > 7)
        exit(1); // leak: the program stops here
    return x + y;
}
