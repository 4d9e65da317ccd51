// Overflow builtins and saturation by hand.
#include <phineus.h>
PH_MAIN void overflow(PH_IN(a) int32_t x, PH_IN(b) int32_t y, PH_IN(a) uint16_t p,
                      PH_IN(b) uint16_t q, PH_OUT(a) int32_t r[4], PH_OUT(a) bool o[4])
{
    int32_t t; uint32_t s;
    o[0] = __builtin_add_overflow(x, y, &t); r[0] = t;
    o[1] = __builtin_mul_overflow(x, y, &t); r[1] = t;
    o[2] = __builtin_sub_overflow((uint32_t)x, (uint32_t)y, &s); r[2] = s;
    uint16_t u = p + q < p ? UINT16_MAX : p + q;
    if ((uint16_t)(p + q) < p) u = UINT16_MAX;
    o[3] = u > 1000; r[3] = u;
}
