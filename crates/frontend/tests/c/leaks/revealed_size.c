// The size of memory is planned, and what is revealed is known only when the program runs.
#include <phineus.h>
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) uint32_t x, PH_IN(b) uint32_t y)
{
    uint32_t n = ph_reveal(x & 7) + 1;
    uint32_t *room = malloc(n * sizeof *room); // leak: the size of this memory
    room[0] = y;
    return room[0];
}
