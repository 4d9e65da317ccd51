// Pointers, structures, memcpy, recursion and heap memory with public control flow.
#include <phineus.h>
struct node { uint32_t value; struct node *next; };
static uint32_t total(const struct node *list) { return list ? list->value + total(list->next) : 0; }
static void swap(uint32_t *a, uint32_t *b) { uint32_t t = *a; *a = *b; *b = t; }
static uint32_t apply(uint32_t (*f)(uint32_t), uint32_t x) { return f(x); }
static uint32_t twice(uint32_t x) { return 2 * x; }
PH_MAIN void pointers(PH_IN(a) const uint32_t x[6], PH_IN(b) uint32_t y[6], PH_OUT(a, b) uint32_t r[6])
{
    struct node *list = NULL;
    for (int i = 0; i < 6; i++) {
        struct node *node = malloc(sizeof *node);
        node->value = x[i];
        node->next = list;
        list = node;
    }
    uint32_t copy[6];
    memcpy(copy, y, sizeof copy);
    for (uint32_t *p = copy, *q = copy + 5; p < q; p++, q--)
        swap(p, q);
    memset(r, 0, 6 * sizeof *r);
    r[0] = total(list);
    r[1] = apply(twice, copy[0]);
    memmove(copy + 1, copy, 5 * sizeof *copy);
    for (int i = 2; i < 6; i++)
        r[i] = copy[i];
    y[0] = 5;
    r[5] += y[0];
}
