// Registers of the run time have 64 bits.
#include <phineus.h>
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) uint64_t x, PH_IN(b) uint64_t y)
{
    unsigned __int128 both = (unsigned __int128)x * y;
    return (uint32_t)(ph_reveal(both) >> 64); // leak: 128 bits
}
