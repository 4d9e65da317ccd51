// Secret branches: stores in arms, nested, early return, and a switch.
#include <phineus.h>
static uint32_t classify(uint32_t x)
{
    if (x < 10)
        return 1;
    if (x < 100000)
        return x / 3;
    switch (x & 7) {
    case 0: return 17;
    case 1:
    case 2: return x ^ 5;
    case 3: x += 9; break;
    default: return 0;
    }
    return x;
}
PH_MAIN void branches(PH_IN(a) const uint32_t x[8], PH_IN(b) const uint32_t y[8],
                      PH_OUT(a, b) uint32_t r[8], PH_OUT(a) uint64_t *pair)
{
    uint32_t cells[4] = {1, 2, 3, 4};
    for (int i = 0; i < 8; i++) {
        if (x[i] > y[i]) {
            cells[i & 3] = x[i];
            if (y[i] & 1)
                cells[1] += i;
        } else {
            for (int j = 0; j < 4; j++)
                cells[j] ^= y[i];
        }
        r[i] = classify(x[i] - cells[i & 3]);
    }
    *pair = (uint64_t)cells[0] << 32 | cells[3];
}
