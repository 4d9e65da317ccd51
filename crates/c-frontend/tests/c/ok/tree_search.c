// A tree is searched with a secret: which node comes next is secret.
#include <phineus.h>
struct tree { uint32_t value; struct tree *child[2]; };
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[7], PH_IN(b) uint32_t y)
{
    struct tree t[7];
    for (int i = 0; i < 7; i++) {
        t[i].value = x[i];
        t[i].child[0] = 2 * i + 1 < 7 ? &t[2 * i + 1] : NULL;
        t[i].child[1] = 2 * i + 2 < 7 ? &t[2 * i + 2] : NULL;
    }
    struct tree *p = &t[0];
    uint32_t found = 0;
    for (int d = 0; d < 3; d++) {
        found = found * 3 + p->value;
        p = p->child[y > p->value];
    }
    return found;
}
