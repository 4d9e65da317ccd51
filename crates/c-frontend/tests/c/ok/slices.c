// Structures with pointers are copied, passed and returned, and lie in a union-free heap.
#include <phineus.h>
struct view { const uint32_t *p; uint64_t n; const struct view *outer; };
static struct view sub(const struct view *v, int from, int n) { struct view s = { v->p + from, n, v }; return s; }
static struct view twice(struct view v) { v.p += 1; v.n -= 2; return v; }
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[16], PH_IN(b) uint32_t y)
{
    struct view whole = { x, 16, NULL };
    struct view s = sub(&whole, 2, 10), t = twice(s), *h = malloc(3 * sizeof *h);
    h[0] = whole; h[1] = s; memcpy(&h[2], &t, sizeof t);
    uint32_t sum = y;
    for (int i = 0; i < 3; i++)
        for (uint64_t j = 0; j < h[i].n; j++)
            sum = sum * 5 + h[i].p[j] + (h[i].outer ? h[i].outer->p[0] : 0);
    return sum;
}
