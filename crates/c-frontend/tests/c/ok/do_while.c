// Loops with their conditions at the end, and gotos forward.
#include <phineus.h>
PH_SIZE(N, 20)
PH_MAIN void loops(PH_IN(a) const uint32_t x[N], PH_OUT(a) uint32_t r[3])
{
    uint32_t sum = 0, last = 0, least = ~0u;
    int i = 0;
    do {
        sum += x[i];
        last = x[i] >> 1;
        if (x[i] < least)
            least = x[i];
        i++;
    } while (i < N);
    r[0] = sum;
    r[1] = last;
    if (sum & 1)
        goto odd;
    least += 5;
odd:
    r[2] = least;
}
