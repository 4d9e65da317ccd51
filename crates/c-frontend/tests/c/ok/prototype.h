#include <phineus.h>
PH_SIZE(N, 6)
static int helper(int x);
int total(PH_IN(a) PH_RANGE(-9, 9) const int x[N], PH_IN(b) int,
          PH_IN(b) PH_RANGE(9223372036854775808u, UINT64_MAX) uint64_t, PH_OUT(a, b) int *);
