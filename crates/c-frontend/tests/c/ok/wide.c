// Integers of 128 bits and of odd widths.
#include <phineus.h>
typedef unsigned __int128 u128;
PH_MAIN void wide(PH_IN(a) uint64_t x, PH_IN(b) uint64_t y, PH_OUT(a) uint64_t r[6])
{
    u128 p = (u128)x * y + ((u128)1 << 100);
    uint32_t n = (x * 3 + y) & 0x1FFFF;
    int64_t m = -((int64_t)(y << 24) >> 24) >> 3;
    r[0] = (uint64_t)p;
    r[1] = (uint64_t)(p >> 64);
    r[2] = p > ((u128)y << 60);
    r[3] = n;
    r[4] = (uint64_t)m;
    r[5] = (uint64_t)((__int128)(p ^ -(u128)y) >> 90);
}
