// A ring that a secret walks has no end; a list has.
#include <phineus.h>
struct node { uint32_t value; struct node *next; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[5], PH_IN(b) uint32_t y)
{
    struct node all[5];
    for (int i = 0; i < 5; i++) {
        all[i].value = x[i];
        all[i].next = &all[(i + 1) % 5];
    }
    if (y > 5)
        all[2].next = NULL;
    uint32_t sum = 0;
    for (struct node *n = all; n; n = n->next) // leak: how often this loop runs depends on a secret
        sum += n->value;
    return sum;
}
