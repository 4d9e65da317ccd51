// A second-price auction between three parties.
#include <phineus.h>
PH_MAIN void auction(PH_IN(a) uint32_t x, PH_IN(b) uint32_t y, PH_IN(c) uint32_t z,
                     PH_OUT(a, b, c) uint8_t *winner, PH_OUT(a, b, c) uint32_t *price)
{
    uint32_t bids[3] = {x, y, z};
    uint32_t first = 0, second = 0;
    uint8_t who = 0;
    for (uint8_t i = 0; i < 3; i++) {
        if (bids[i] > first) {
            second = first;
            first = bids[i];
            who = i;
        } else if (bids[i] > second) {
            second = bids[i];
        }
    }
    *winner = who;
    *price = second;
}
