// Secret indices that are multiples of others, through pointers and in structures: LLVM computes with bytes.
#include <phineus.h>
#include <stddef.h>
#include <string.h>
static void put(uint32_t *list, size_t n, uint32_t v)
{
    list[3 * n] = v;
    list[5 * n + 2] += v;
}
static uint32_t get(const uint32_t *list, size_t n) { return list[6 * n + 1]; }
struct pair { uint16_t low; uint32_t high; };
PH_MAIN void multiples(PH_IN(a) const uint8_t k[8], PH_IN(b) const uint32_t v[8], PH_OUT(a, b) uint32_t sums[4],
                     PH_OUT(a, b) uint32_t whole[330])
{
    uint32_t list[330] = {0}, few[40] = {0};
    struct pair pairs[300];
    uint8_t raw[64];
    memset(pairs, 0, sizeof pairs);
    for (int i = 0; i < 64; i++)
        raw[i] = (uint8_t)(v[i & 7] >> (i >> 3));
    sums[0] = sums[1] = sums[2] = sums[3] = 0;
    for (int i = 0; i < 8; i++) {
        put(list, k[i] & 63, v[i]);
        if (k[i] & 64)
            put(few, k[i] & 7, v[i] + 1);
        sums[0] += get(list, (k[i] >> 2) & 31) + get(few, k[i] & 3);
        pairs[2 * (k[i] & 127)].high ^= v[i];
        sums[1] += pairs[k[i]].high + pairs[k[i]].low;
        // Elements that overlap.
        uint32_t word;
        memcpy(&word, raw + (k[i] & 31), sizeof word);
        sums[2] += word;
        word += k[i];
        memcpy(raw + (k[i] & 15), &word, sizeof word);
        sums[3] += raw[k[i] & 63];
    }
    for (int i = 0; i < 330; i++)
        whole[i] = list[i] + (i < 40 ? few[i] : 0);
}
