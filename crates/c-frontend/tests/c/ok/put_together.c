// Bytes put together and taken apart, shifts by the index of a loop: nothing of it costs an AND.
#include <phineus.h>
PH_MAIN void f(PH_IN(a) const uint8_t x[16], PH_IN(b) uint64_t v, PH_OUT(a, b) uint32_t big[4], PH_OUT(a, b) uint64_t *little,
               PH_OUT(a, b) uint8_t bytes[8], PH_OUT(b) int16_t mixed[4])
{
    for (int i = 0; i < 4; i++)
        big[i] = (uint32_t)x[4 * i] << 24 | x[4 * i + 1] << 16 | x[4 * i + 2] << 8 | x[4 * i + 3];
    uint64_t all = 0;
    for (int i = 7; i >= 0; i--)
        all = all << 8 | x[i];
    *little = all + (((uint64_t)x[8] << 3 & 0x3f0) ^ ((v & 7) << 20));
    for (int i = 0; i < 8; i++)
        bytes[i] = (v >> (56 - 8 * i)) & 0xff;
    for (int i = 0; i < 4; i++)
        mixed[i] = (int16_t)((int64_t)v >> (13 * i)) ^ (int16_t)(x[i] << (2 * i));
}
