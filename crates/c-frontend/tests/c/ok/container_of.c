// An embedded list link, as the Linux kernel has it.
#include <phineus.h>
#include <stddef.h>
struct link { struct link *next, *before; };
struct item { uint32_t value; struct link link; uint8_t tag; };
#define ITEM(l) ((struct item *)((char *)(l) - offsetof(struct item, link)))
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[5], PH_IN(b) uint32_t y)
{
    struct link head = { &head, &head };
    for (int i = 0; i < 5; i++) {
        struct item *it = malloc(sizeof *it);
        it->value = x[i] + y; it->tag = i;
        it->link.next = &head; it->link.before = head.before; head.before->next = &it->link; head.before = &it->link;
    }
    uint32_t sum = 0;
    for (struct link *l = head.next; l != &head; l = l->next) sum = sum * 3 + ITEM(l)->value * ITEM(l)->tag;
    return sum;
}
