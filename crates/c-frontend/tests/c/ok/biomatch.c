// The nearest row of a database.
// instructions: 118
#include <phineus.h>
PH_SIZE(N, 20)
PH_SIZE(DIM, 4)

PH_MAIN void match(PH_IN(alice) const uint8_t probe[DIM], PH_IN(bob) const uint8_t base[N][DIM],
                   PH_OUT(alice, bob) uint32_t *best, PH_OUT(alice) uint32_t *where)
{
    uint32_t least = UINT32_MAX;
    uint32_t at = 0;
    for (int i = 0; i < N; i++) {
        uint32_t distance = 0;
        for (int j = 0; j < DIM; j++) {
            int32_t d = probe[j] - base[i][j];
            distance += d * d;
        }
        if (distance < least) {
            least = distance;
            at = i;
        }
    }
    *best = least;
    *where = at;
}
