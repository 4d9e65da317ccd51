// A list of 200 nodes, whose end and whose order secrets decide.
#include <phineus.h>
struct node { uint32_t value; struct node *next; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[200], PH_IN(b) uint32_t y)
{
    struct node all[200];
    for (int i = 0; i < 200; i++) { all[i].value = x[i]; all[i].next = i < 199 ? &all[i + 1] : NULL; }
    if (y & 1) all[150].next = NULL;
    if (y & 2) all[20].next = all[21].next;
    uint32_t sum = 0;
    for (struct node *n = all; n; n = n->next) sum = sum * 3 + n->value;
    return sum;
}
