// The answer is what is returned.
#include <phineus.h>

PH_MAIN PH_OUT(alice, bob) bool richer(PH_IN(alice) uint32_t mine, PH_IN(bob) uint32_t yours)
{
    return mine > yours;
}
