// Assertions about secrets, also in a loop and behind one.
#include <phineus.h>
#include <assert.h>
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    assert(y < 100); // leak: whether this assertion holds depends on a secret = give whether it holds
    for (int i = 0; i < 8; i++)
        assert(x[i] < y); // leak: whether this assertion holds depends on a secret
    if (x[0] == 7) {
        for (int i = 0; i < 8; i++)
            r[i] = y;
        assert(!"it is not 7"); // leak: whether this assertion holds depends on a secret
    }
}
