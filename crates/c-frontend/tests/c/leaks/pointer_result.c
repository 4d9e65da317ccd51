// What is returned has to be the result itself.
#include <phineus.h>
static int32_t kept[4];
PH_MAIN PH_OUT(a) int32_t *f(PH_IN(a) const int32_t x[4]) // leak: what is returned is a pointer
{
    for (int i = 0; i < 4; i++)
        kept[i] = x[i];
    return kept;
}
