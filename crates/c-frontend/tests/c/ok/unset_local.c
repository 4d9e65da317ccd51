// Arrays and variables of the function's own, on the stack and the heap.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const int x[8], PH_IN(b) int k, PH_OUT(b) int y[8])
{
    int t[2];
    if (x[0] > 1000)
        t[0] = x[0];
    t[1] = k;
    y[0] = t[0] + t[1];

    struct { int v; } s;
    if (x[1] > k)
        s.v = x[1];
    y[1] = s.v;

    int *h = malloc(8 * sizeof *h);
    for (int i = 0; i < 8; i++)
        if (x[i] < k)
            h[i] = x[i];
    y[2] = h[2];
    y[3] = h[3] ^ h[4];

    for (int i = 4; i < 8; i++) {
        struct { int v; } each;
        if (x[i] > k)
            each.v = x[i];
        y[i] = each.v;
    }
}
