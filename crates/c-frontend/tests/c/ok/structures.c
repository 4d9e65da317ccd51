// Structures by value, small and large, as parameters, arguments and results.
#include <phineus.h>
typedef struct { int32_t x, y; } point;
typedef struct { int32_t m[3][3]; } matrix;
typedef struct { uint8_t tag; int64_t value; } tagged;
typedef struct { point at; int32_t length; } found;
static point add(point a, point b) { return (point){a.x + b.x, a.y + b.y}; }
static matrix scaled(matrix m, int32_t by)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m.m[i][j] *= by;
    return m;
}
// The caller's copy stays as it was.
static int32_t trace(matrix m, int depth)
{
    m.m[0][0] += depth;
    return depth == 0 ? m.m[0][0] + m.m[1][1] + m.m[2][2] : trace(m, depth - 1) + m.m[0][0];
}
static tagged swapped(tagged t)
{
    point whole;
    memcpy(&whole, &t.value, sizeof whole);
    int32_t first = whole.x;
    whole.x = whole.y;
    whole.y = first;
    memcpy(&t.value, &whole, sizeof whole);
    t.tag++;
    return t;
}
PH_MAIN PH_OUT(a, b) found find(PH_IN(a) matrix m, PH_IN(b) point p, PH_IN(b) tagged t, PH_IN(a) int32_t by)
{
    matrix twice = scaled(m, 2);
    point row[3], sum = p;
    for (int i = 0; i < 3; i++) {
        row[i] = (point){m.m[i][0], twice.m[i][2]};
        sum = add(sum, row[i]);
    }
    t = swapped(t);
    sum.y ^= (int32_t)t.value + t.tag;
    return (found){sum, trace(m, 2) + by * trace(twice, 0)};
}
