// Sizes of memory are planned, and what is revealed is known only when the program runs.
#include <phineus.h>
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) uint32_t x, PH_IN(b) const uint8_t y[8])
{
    uint32_t n = ph_reveal(x & 7) + 1;
    uint32_t *room = malloc(n * sizeof *room); // leak: the size of this memory is known only while the program runs
    uint32_t *clean = calloc(n, 4); // leak: the size of this memory is known only while the program runs
    uint8_t local[n]; // leak: the size of this array is known only while the program runs
    uint8_t copy[8] = { 0 };
    memcpy(copy, y, n); // leak: how much is copied here is known only while the program runs
    memset(copy, 1, n); // leak: how much is set here is known only while the program runs
    for (int i = 0; i < 4; i++)
        local[i] = y[3 - i];
    room[0] = clean[0] = local[y[0] & 3] + copy[0];
    return room[0];
}
