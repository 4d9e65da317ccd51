// Only the chosen ones, at the front: rows behind them hold nothing.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const int x[12], PH_IN(b) int k, PH_OUT(b) int y[12], PH_OUT(b) int *n,
               PH_OUT(b) int s[3])
{
    *n = 0;
    for (int i = 0; i < 12; i++)
        if (x[i] > k)
            y[(*n)++] = x[i];
    // At a secret index, read and written: few elements, and many.
    int few[3], many[16];
    few[(unsigned)x[0] % 3] = x[1];
    s[0] = few[(unsigned)k % 3];
    many[x[2] & 15] = x[3];
    s[1] = many[k & 15];
    int half[16];
    for (int i = 0; i < 16; i += 2)
        half[i] = x[i / 2];
    s[2] = half[k & 15];
}
