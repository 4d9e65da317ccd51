// The first turn is public, and all others are a secret's.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) int32_t x, PH_IN(b) int32_t y, PH_OUT(a, b) int32_t *r)
{
    bool first = true;
    *r = 0;
    while (first || x > y) { // leak: how often this loop runs
        first = false;
        *r += 1;
        x -= 3;
    }
}
