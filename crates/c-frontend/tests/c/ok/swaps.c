// Exchanges by pointers, with what is exchanged a secret choice.
#include <phineus.h>
static void exchange(bool if_so, uint64_t *a, uint64_t *b)
{
    uint64_t m = -(uint64_t)if_so & (*a ^ *b);
    *a ^= m;
    *b ^= m;
}
PH_MAIN void f(PH_IN(a) const uint64_t x[4], PH_IN(b) const bool bits[3], PH_OUT(a) uint64_t r[4])
{
    memcpy(r, x, 4 * sizeof *x);
    for (int i = 0; i < 3; i++)
        exchange(bits[i], &r[i], &r[i + 1]);
    uint64_t *p = bits[0] ? &r[0] : &r[2];
    *p += 5;
}
