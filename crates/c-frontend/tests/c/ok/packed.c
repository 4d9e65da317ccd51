// Structures with padding, nested structures and arrays in them.
#include <phineus.h>
struct inner { uint8_t tag; uint32_t values[3]; };
struct outer { int16_t id; struct inner parts[2]; bool set; };
PH_MAIN void f(PH_IN(a) const struct outer in[4], PH_OUT(a) struct outer out[4])
{
    for (int i = 0; i < 4; i++) {
        struct outer o = in[3 - i];
        o.parts[1] = in[i].parts[0];
        if (o.set)
            o.parts[0].values[1] = o.id;
        o.set = !o.set;
        out[i] = o;
    }
}
