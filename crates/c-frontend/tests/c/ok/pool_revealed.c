// A list in a pool that grows for as long as the loop runs.
#include <phineus.h>
struct item { uint32_t value; struct item *next; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[4], PH_IN(b) PH_RANGE(0, 3) uint8_t y)
{
    struct item pool[4] = { 0 }, *first = NULL;
    int n = ph_reveal(y), used = 0;
    while (used < n) {
        struct item *it = &pool[used];
        it->value = x[used] + 1; it->next = first; first = it;
        used++;
    }
    uint32_t sum = 0;
    if (first) sum = first->value;
    return sum;
}
