// How many values two sets share.
// instructions: 128
#include <phineus.h>
PH_SIZE(N, 25)
PH_SIZE(M, 30)
PH_MAIN PH_OUT(a, b) uint32_t shared(PH_IN(a) PH_RANGE(0, 60) const uint16_t x[N],
                                     PH_IN(b) PH_RANGE(0, 60) const uint16_t y[M])
{
    uint32_t count = 0;
    for (int i = 0; i < N; i++) {
        bool found = false;
        for (int j = 0; j < M; j++)
            found |= x[i] == y[j];
        count += found;
    }
    return count;
}
