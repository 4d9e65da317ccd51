// A list whose end a secret decides.
#include <phineus.h>
struct node { uint32_t value; struct node *next; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[5], PH_IN(b) uint32_t y)
{
    struct node all[5];
    for (int i = 0; i < 5; i++) { all[i].value = x[i]; all[i].next = i < 4 ? &all[i + 1] : NULL; }
    if (y > 5) all[2].next = NULL;
    uint32_t sum = 0;
    for (struct node *n = all; n; n = n->next) sum = sum * 3 + n->value;
    return sum;
}
