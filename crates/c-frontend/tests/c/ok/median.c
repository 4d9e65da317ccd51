// The middle of five by a network of compare and exchange.
#include <phineus.h>
#define EXCHANGE(i, j) if (v[i] > v[j]) { int16_t t = v[i]; v[i] = v[j]; v[j] = t; }
PH_MAIN PH_OUT(a) int16_t median(PH_IN(a) const int16_t x[5])
{
    int16_t v[5];
    memcpy(v, x, sizeof v);
    EXCHANGE(0, 1) EXCHANGE(3, 4) EXCHANGE(2, 4) EXCHANGE(2, 3) EXCHANGE(0, 3)
    EXCHANGE(0, 2) EXCHANGE(1, 4) EXCHANGE(1, 3) EXCHANGE(1, 2)
    return v[2];
}
