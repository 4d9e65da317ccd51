// Hash chains whose bucket a secret decides.
#include <phineus.h>
struct item { uint32_t key, value; struct item *next; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t k[6], PH_IN(a) const uint32_t v[6], PH_IN(b) uint32_t y)
{
    struct item *heads[4] = { 0 }, pool[6];
    for (int i = 0; i < 6; i++) {
        struct item **head = &heads[k[i] & 3];
        pool[i].key = k[i]; pool[i].value = v[i]; pool[i].next = *head;
        *head = &pool[i];
    }
    uint32_t found = 0;
    struct item *it = heads[y & 3];
    for (int i = 0; i < 6; i++)
        if (it) { if ((it->key & 7) == (y & 7)) found += it->value; it = it->next; }
    return found;
}
