// A list that grows for as long as the loop runs: memory is planned.
#include <phineus.h>
struct item { uint32_t value; struct item *next; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[4], PH_IN(b) PH_RANGE(0, 3) uint8_t y)
{
    struct item *first = NULL;
    int n = ph_reveal(y);
    for (int i = 0; i < n; i++) { // leak: memory is allocated in a loop
        struct item *item = malloc(sizeof *item);
        item->value = x[i];
        item->next = first;
        first = item;
    }
    uint32_t sum = 0;
    if (first)
        sum = first->value;
    return sum;
}
