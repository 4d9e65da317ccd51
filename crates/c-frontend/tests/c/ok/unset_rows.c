// Rows that are set only where a secret says so, in lanes, in order, and by a switch.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const int x[64], PH_IN(b) int k, PH_OUT(b) int y[64], PH_OUT(b) int z[64],
               PH_OUT(b) long w[4])
{
    for (int i = 0; i < 64; i++)
        if (x[i] > 1000)
            y[i] = x[i];
    int last = 0;
    for (int i = 0; i < 64; i++) {
        if (x[i] % 2 > last) {
            z[i] = x[i];
            last ^= k & 1;
        }
    }
    for (int i = 0; i < 4; i++)
        switch (x[i] & 3) {
        case 0: w[i] = x[i]; break;
        case 2: w[i] = k; break;
        }
}
