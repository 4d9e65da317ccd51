// Which array is read or written is a secret: loads of a chosen address, as LLVM makes them too.
// instructions: 600
#include <phineus.h>
struct pair { uint32_t first; uint16_t second[3]; };
static void add(uint32_t *to, uint32_t x) { *to += x; }
static uint32_t total(const uint32_t *p, int n) { return n ? *p + total(p + 1, n - 1) : 0; }
static uint32_t value(const struct pair *p) { return p ? p->first * 3 + p->second[1] : 77; }
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(a) uint32_t z[8], PH_IN(b) PH_RANGE(0, 7) const uint32_t y[4],
               PH_OUT(a, b) uint32_t r[24])
{
    uint32_t other[8] = {0};
    other[y[0] & 7] = 1;
    const uint32_t *p = x;
    if (y[0] > 3)
        p = other;
    for (int i = 0; i < 8; i++)
        r[i] = p[i];
    r[8] = y[1] > 2 ? x[2] : z[3];
    // Chains, and one array at different places.
    const uint32_t *q = y[0] > 2 ? x : y[1] > 2 ? z + 1 : y[2] > 2 ? other : z;
    r[9] = q[3] + q[y[3]];
    const uint32_t *walk = x;
    for (int i = 0; i < 4; i++)
        if (y[i] > 3)
            walk++;
    r[10] = *walk;
    r[11] = walk == x;
    r[12] = (uint32_t)(walk - x);
    // Stores, also through a function and to elements of one array.
    uint32_t u[4] = {1, 2, 3, 4}, v[4] = {5, 6, 7, 8};
    *(y[0] & 1 ? u + 1 : v + 2) = x[0];
    add(y[1] & 1 ? &u[2] : &u[3], x[1]);
    uint32_t *w;
    if (y[2] > 4)
        w = u;
    else if (y[3] > 4)
        w = v;
    else
        w = u + 1;
    w[y[1] & 1] = 9;
    memset(y[3] & 1 ? u + 3 : v + 3, 1, sizeof *u);
    for (int i = 0; i < 4; i++)
        r[13 + i] = u[i] * 1000 + v[i];
    // Null, structures, copies of them, and arrays of pointers.
    struct pair one = {x[3], {1, 2, 3}}, two = {z[4], {4, (uint16_t)x[5], 6}}, copy;
    r[17] = value(y[0] > 5 ? NULL : y[1] > 3 ? &one : &two);
    copy = *(y[2] & 1 ? &one : &two);
    r[18] = copy.first + copy.second[0] + copy.second[1] + copy.second[2];
    const uint32_t *rows[3] = {x, z, other};
    r[19] = rows[y[0] % 3][y[1]];
    r[20] = total(y[2] > 3 ? z + 2 : x + 1, 3);
    uint32_t *ends[2] = {u, v};
    if (y[3] > 3) {
        uint32_t *t = ends[0];
        ends[0] = ends[1];
        ends[1] = t;
    }
    ends[0][1] += 5;
    r[21] = u[1];
    r[22] = v[1] + *ends[1];
    // In lanes: a choice for each iteration.
    uint32_t sum = 0;
    for (int i = 0; i < 8; i++)
        sum += *(x[i] > z[i] ? &x[i] : &z[i]);
    r[23] = sum;
}
