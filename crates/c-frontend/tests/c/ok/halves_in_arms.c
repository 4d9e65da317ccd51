// A value of which a secret branch changes a half.
#include <phineus.h>
typedef union { uint64_t whole; uint32_t half[2]; uint8_t bytes[8]; } cell;
PH_MAIN void f(PH_IN(a) uint64_t x, PH_IN(b) uint32_t y, PH_OUT(a, b) uint64_t r[3])
{
    cell all[3] = {{x}, {x + y}, {x * 3}};
    for (int i = 0; i < 3; i++) {
        if (y & (1u << i))
            all[i].half[1 - (i & 1)] = y;
        if (y & (8u << i))
            all[i].bytes[i + 2] ^= (uint8_t)y;
        else
            all[i].half[0]++;
    }
    for (int i = 0; i < 3; i++)
        r[i] = all[i].whole;
}
