// A single structure in, a single structure out.
#include <phineus.h>
struct in { uint8_t age; uint32_t income; bool owner; };
struct out { uint8_t grade; uint32_t limit; };
PH_MAIN void credit(PH_IN(customer) const struct in *p, PH_IN(bank) uint32_t base, PH_OUT(customer) struct out *o)
{
    uint32_t limit = p->owner ? base + p->income / 4 : base / 2;
    o->grade = p->age < 25 ? 1 : p->income > 50000 ? 3 : 2;
    o->limit = limit > 1000000 ? 1000000 : limit;
}
