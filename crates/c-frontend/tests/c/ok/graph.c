// A graph with edges in arrays of pointers, walked with a queue of pointers.
#include <phineus.h>
struct node { uint32_t value; int n, seen; struct node *edges[3]; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[7], PH_IN(b) uint32_t y)
{
    struct node g[7] = { 0 }, *queue[16], **in = queue, **out = queue;
    for (int i = 0; i < 7; i++) { g[i].value = x[i]; g[i].edges[g[i].n++] = &g[(i * 3 + 1) % 7]; g[i].edges[g[i].n++] = &g[(i + 5) % 7]; }
    *in++ = &g[0]; g[0].seen = 1;
    uint32_t sum = y;
    while (out != in) {
        struct node *n = *out++;
        sum = sum * 3 + n->value;
        for (int k = 0; k < n->n; k++)
            if (!n->edges[k]->seen) { n->edges[k]->seen = 1; *in++ = n->edges[k]; }
    }
    return sum;
}
