// All operations of C on secrets of several widths.
#include <phineus.h>
PH_MAIN void arithmetic(PH_IN(a) int32_t x, PH_IN(b) int32_t y, PH_IN(a) uint64_t u,
                        PH_IN(b) uint64_t v, PH_IN(a) int16_t s, PH_IN(b) uint8_t c,
                        PH_OUT(a, b) int32_t i[13], PH_OUT(a, b) uint64_t j[12])
{
    int32_t d = y | 1;
    i[0] = x + y; i[1] = x - y; i[2] = x * y; i[3] = x / d; i[4] = x % d;
    i[5] = x << (c & 31); i[6] = x >> (c & 31); i[7] = x < y; i[8] = -x; i[9] = ~x;
    i[10] = s * c; i[11] = x == y ? s : c; i[12] = abs(s);
    j[0] = u / (v | 1); j[1] = u % (v | 1); j[2] = u >> (c & 63); j[3] = (unsigned __int128)u * v >> 64;
    j[4] = (u << 13 | u >> 51); j[5] = __builtin_popcountll(u); j[6] = __builtin_clzll(v | 1);
    j[7] = __builtin_ctzll(u | 1ull << 60); j[8] = __builtin_bswap64(u);
    j[9] = u > v ? u : v; j[10] = (int64_t)u < (int64_t)v; j[11] = u ^ v & ~u | c;
}
