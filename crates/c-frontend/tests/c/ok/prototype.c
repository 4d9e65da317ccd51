// The annotations stand in a header of the program's, before a prototype, as in any C project.
#include "prototype.h"
int total(const int x[N], int y, uint64_t large, int *sum);
PH_MAIN PH_OUT(a) int total(const int x[N], int y, uint64_t large, int *sum)
{
    *sum = y;
    for (int i = 0; i < N; i++)
        *sum += helper(x[i]);
    return large > (1ull << 63) + 5 ? *sum : -*sum;
}
static int helper(int x)
{
    return x < 0 ? -x : x;
}
