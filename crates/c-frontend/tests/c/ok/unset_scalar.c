// No `else`; and what is opened decides too.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) int x, PH_IN(b) int k, PH_OUT(b) int *y, PH_OUT(b) int *z, PH_OUT(b) int *w,
               PH_OUT(b) int *v)
{
    if (x > 1000)
        *y = x;
    else if (k > 5)
        *y = k;
    if (ph_reveal(x > 0))
        *z = x;
    if (ph_reveal(k > 0))
        *w = 5;
    for (int i = 0; ph_reveal(i < (x & 3)); i++)
        *v = 7;
}
