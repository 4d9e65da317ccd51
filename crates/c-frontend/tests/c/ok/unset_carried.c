// Through functions, loops that a secret leaves, a `goto` past a declaration, and pointers to what is not set.
#include <phineus.h>
static void find(const int *x, int k, int *found)
{
    for (int i = 0; i < 6; i++)
        if (x[i] > k) {
            *found = x[i];
            return;
        }
}
static int early(int x, int k)
{
    struct { int v; } r;
    if (x > k)
        goto out;
    r.v = k;
out:
    return r.v;
}
PH_MAIN void f(PH_IN(a) const int x[6], PH_IN(b) int k, PH_OUT(b) int y[6])
{
    int best;
    find(x, k, &best);
    y[0] = best;
    int v[2];
    int *p = x[1] > 0 ? &v[0] : &v[1];
    *p = x[2];
    y[1] = v[0];
    y[2] = v[1];
    for (int i = 0; i < 6; i++) {
        if (x[i] == k)
            break;
        if (x[i] > 0)
            y[3] = x[i];
    }
    y[4] = early(x[3], k);
    switch (x[4] & 3) {
        struct { int v; } w;
    case 0:
        w.v = x[5];
    case 1:
        y[5] = w.v;
    }
}
