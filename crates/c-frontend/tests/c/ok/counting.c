// Counters and sums at secret indices: constants and secrets are added where an index or a condition says.
#include <phineus.h>
struct group { uint16_t count; int32_t sum; };
PH_MAIN void counting(PH_IN(a) const uint8_t x[20], PH_IN(b) const int8_t y[20], PH_OUT(a, b) uint32_t histogram[16],
                      PH_OUT(a, b) struct group groups[9], PH_OUT(a) uint8_t small[8], PH_OUT(b) uint32_t counts[4])
{
    uint32_t twice[12] = {0};
    for (int i = 0; i < 16; i++)
        histogram[i] = i;
    for (int i = 0; i < 9; i++)
        groups[i].count = groups[i].sum = 0;
    for (int i = 0; i < 8; i++)
        small[i] = 250;
    counts[0] = counts[1] = counts[2] = counts[3] = 0;
    for (int i = 0; i < 20; i++) {
        histogram[x[i] & 15]++;
        groups[x[i] % 9].count += 3;
        groups[x[i] % 9].sum += y[i];
        small[(x[i] ^ (uint8_t)y[i]) & 7] += 5;
        if (y[i] < 0) {
            histogram[x[i] >> 4] -= 2;
            counts[0]++;
            counts[1] += x[i];
            if (x[i] & 1)
                counts[2] += 7;
            else
                counts[2] -= 1;
        } else {
            counts[3]--;
            twice[x[i] % 12] += 2;
            twice[x[i] % 12] += x[i];
        }
        // Written in between, and read at another place.
        uint32_t before = twice[x[i] % 12];
        twice[(uint8_t)y[i] % 12] = i;
        twice[x[i] % 12] = before + 1;
        twice[3] += twice[y[i] & 7];
    }
    for (int i = 0; i < 12; i++)
        histogram[i] += 1000 * twice[i];
}
