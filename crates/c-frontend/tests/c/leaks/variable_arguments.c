// How many arguments there are is in a list that a function takes apart byte by byte.
#include <phineus.h>
#include <stdarg.h>
static int32_t sum(int n, ...)
{
    va_list all;
    va_start(all, n), n += va_arg(all, int32_t); // leak: a variable number of arguments is not supported
    va_end(all); // leak: pass an array and its length
    return n;
}
PH_MAIN void f(PH_IN(a) int32_t x, PH_IN(b) int32_t y, PH_OUT(a, b) int32_t *r)
{
    *r = sum(2, x, y);
}
