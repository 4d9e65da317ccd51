// Returns from within loops within branches.
// instructions: 441
#include <phineus.h>
static int find(const uint8_t *x, int n, uint8_t from, uint8_t to)
{
    for (int i = 0; i < n; i++) {
        if (x[i] > from) {
            if (x[i] < to)
                return i;
            if (x[i] == to)
                return -i;
        }
    }
    return 100;
}
PH_MAIN void f(PH_IN(a) const uint8_t x[12], PH_IN(b) uint8_t low, PH_OUT(b) int32_t r[2])
{
    r[0] = find(x, 12, low, low | 15);
    r[1] = find(x + 4, 5, 3, low);
}
