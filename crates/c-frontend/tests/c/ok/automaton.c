// A state machine whose state is a secret: tables at a secret index.
#include <phineus.h>
static const uint8_t step[4][3] = {{1, 0, 2}, {1, 3, 0}, {2, 2, 3}, {0, 3, 1}};
PH_MAIN PH_OUT(a, b) bool accepts(PH_IN(a) PH_RANGE(0, 2) const uint8_t word[9], PH_IN(b) PH_RANGE(0, 3) uint8_t start)
{
    uint8_t state = start;
    for (int i = 0; i < 9; i++)
        state = step[state & 3][word[i]];
    return state == 3;
}
