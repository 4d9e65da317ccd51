// Two layers of a neural network and the class that wins.
#include <phineus.h>
PH_SIZE(IN, 8)
PH_SIZE(HIDDEN, 12)
PH_SIZE(OUT, 4)
PH_MAIN PH_OUT(client) uint8_t network(PH_IN(client) PH_RANGE(-100, 100) const int32_t x[IN],
                                       PH_IN(server) PH_RANGE(-100, 100) const int32_t W1[HIDDEN][IN],
                                       PH_IN(server) PH_RANGE(-100, 100) const int32_t b1[HIDDEN],
                                       PH_IN(server) PH_RANGE(-100, 100) const int32_t W2[OUT][HIDDEN],
                                       PH_IN(server) PH_RANGE(-100, 100) const int32_t b2[OUT])
{
    int32_t h[HIDDEN], y[OUT];
    ph_linear_layer(h, W1, x, b1, HIDDEN, IN);
    for (int i = 0; i < HIDDEN; i++)
        h[i] = h[i] > 0 ? h[i] >> 4 : 0;
    ph_linear_layer(y, W2, h, b2, OUT, HIDDEN);
    uint8_t best = 0;
    for (uint8_t i = 1; i < OUT; i++)
        if (y[i] > y[best])
            best = i;
    return best;
}
