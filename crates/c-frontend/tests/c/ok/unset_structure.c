// Set only where a secret says so: 0 where not, in a result of several fields.
#include <phineus.h>
struct o { bool ok; int v; struct { short a; long b[2]; } in; };
PH_MAIN void f(PH_IN(a) const short x[8], PH_IN(b) short k, PH_OUT(b) struct o y[8])
{
    for (int i = 0; i < 8; i++) {
        y[i].ok = x[i] > k;
        if (y[i].ok) {
            y[i].v = x[i];
            y[i].in.b[1] = x[i];
        } else
            y[i].in.b[0] = k;
        if (x[i] > 1000)
            y[i].in.a = x[i];
    }
}
