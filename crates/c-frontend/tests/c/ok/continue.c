// Iterations that a secret skips, and loops within arms.
#include <phineus.h>
PH_MAIN void skips(PH_IN(a) const uint8_t x[10], PH_IN(b) uint8_t y, PH_OUT(a) uint16_t r[2])
{
    uint16_t sum = 0, steps = 0;
    for (int i = 0; i < 10; i++) {
        if (x[i] < y)
            continue;
        sum += x[i];
        if (x[i] & 1)
            for (int j = 0; j < 3; j++) {
                if ((x[i] >> j & 2) == 0)
                    break;
                steps++;
            }
    }
    r[0] = sum;
    r[1] = steps;
}
