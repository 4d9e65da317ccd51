// Secret indices: reads, writes, two dimensions, and a histogram.
#include <phineus.h>
PH_MAIN void indices(PH_IN(a) const uint8_t x[16], PH_IN(b) const uint8_t table[4][6],
                     PH_OUT(a, b) uint32_t histogram[8], PH_OUT(a) uint16_t picked[16])
{
    static const uint16_t squares[10] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81};
    for (int i = 0; i < 8; i++)
        histogram[i] = 0;
    for (int i = 0; i < 16; i++) {
        histogram[x[i] % 8] += x[i];
        picked[i] = squares[x[i] % 10] + table[x[i] & 3][x[15 - i] % 6];
    }
}
