// A call of a function that is nowhere.
#include <phineus.h>
int printf(const char *, ...);
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    printf("%u\n", y); // leak: what a party is to learn is a parameter with PH_OUT
}
