// A call whose happening is a secret.
#include <phineus.h>
void report(int);
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    if (y > 3)
        report(7); // leak: the function 'report' is not defined
}
