// A pool that was cleared becomes a list where secrets say so.
#include <phineus.h>
struct item { uint32_t key; uint8_t used; struct item *next; };
struct map { int count; struct item *heads[3]; struct item pool[6]; };
static struct map m;
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[6], PH_IN(b) uint32_t y)
{
    for (int i = 0; i < 6; i++) {
        if (x[i] & 1) {
            m.pool[i].key = x[i]; m.pool[i].used = 1;
            m.pool[i].next = m.heads[i % 3]; m.heads[i % 3] = &m.pool[i]; m.count++;
        }
    }
    uint32_t sum = m.count;
    for (struct item *it = m.heads[1]; it; it = it->next) sum = sum * 3 + it->key + y;
    for (struct item *it = m.heads[2]; it && it->key != y; it = it->next) sum = sum * 5 + it->used;
    return sum;
}
