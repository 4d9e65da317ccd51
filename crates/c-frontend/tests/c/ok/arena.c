// A bump allocator in an array of bytes.
#include <phineus.h>
static _Alignas(16) uint8_t arena[512]; static size_t used;
static void *grab(size_t n) { void *p = arena + used; used += (n + 7) & ~(size_t)7; return p; }
struct node { uint32_t value; struct node *next; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[5], PH_IN(b) uint32_t y)
{
    struct node *first = NULL;
    for (int i = 0; i < 5; i++) { struct node *n = grab(sizeof *n); n->value = x[i]; n->next = first; first = n; }
    if (y & 1) first = first->next;
    if (y & 2) first->next = first->next->next;
    uint32_t sum = 0;
    struct node *n = first;
    for (int i = 0; i < 3; i++, n = n->next) sum = sum * 3 + n->value;
    return sum;
}
