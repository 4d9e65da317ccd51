// What programs ask the compiler: whether it knows a value, how large an object is; a variable of
// each thread, of which there is one.
#include <phineus.h>
#define HASH(n) (__builtin_constant_p(n) ? (n) * 40503u : slow(n))
static uint32_t slow(uint32_t n)
{
    return (n << 15) + (n << 12) + (n << 11) + (n << 10) + (n << 9) + (n << 5) + (n << 4) + (n << 2) + n * 3;
}
static _Thread_local int32_t seen;
static void copy(void *to, const void *from)
{
    __builtin___memcpy_chk(to, from, 12, __builtin_object_size(to, 0));
    seen++;
}
PH_MAIN void f(PH_IN(a) const int32_t x[4], PH_IN(b) const uint32_t y[4], PH_OUT(a, b) int32_t r[6])
{
    int32_t t[3];
    copy(t, x);
    r[0] = HASH(12) + t[2];
    r[1] = HASH(y[0]);
    r[2] = __builtin_constant_p(y[1]) ? 7 : t[0];
    r[3] = __builtin_object_size(t, 0);
    r[4] = (int32_t)__builtin_object_size(&t[1], 1) + (x[3] > 5 ? ++seen : seen);
    r[5] = seen;
}
