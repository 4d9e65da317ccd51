// Insertion into a sorted linked list by secret keys: the links become secret.
#include <phineus.h>
struct node { uint32_t value; struct node *next; };
PH_MAIN void f(PH_IN(a) const uint32_t x[4], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[4])
{
    struct node all[4], *first = NULL;
    for (int i = 0; i < 4; i++) {
        all[i].value = x[i] ^ y;
        struct node **at = &first;
        for (int k = 0; k < i; k++)
            if (*at && (*at)->value < all[i].value) at = &(*at)->next;
        all[i].next = *at;
        *at = &all[i];
    }
    int i = 0;
    struct node *n = first;
    for (int i = 0; i < 4; i++) { r[i] = n->value; n = n->next; }
}
