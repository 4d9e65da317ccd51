// A structure with a pointer in it.
#include <phineus.h>
struct row { uint32_t id; uint32_t *more; };
PH_MAIN void f(PH_IN(a) const struct row x[2], // leak: has a pointer in it
               PH_OUT(a) uint32_t *r)
{
    *r = x[0].id;
}
