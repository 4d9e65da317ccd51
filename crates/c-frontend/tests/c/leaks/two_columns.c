// Two fields whose columns have one name.
#include <phineus.h>
struct s { struct { int b; } a; int a_b; };
struct t { int x[2]; int x1; };
PH_MAIN void f(PH_IN(a) const struct s x[2], // leak: two columns of 'x' are called 'a_b'
               PH_IN(a) const struct t v[2], // leak: two columns of 'v' are called 'x1'
               PH_OUT(a) int r[2])
{
    for (int i = 0; i < 2; i++)
        r[i] = x[i].a.b * 1000 + x[i].a_b + v[i].x1;
}
