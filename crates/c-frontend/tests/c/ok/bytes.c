// Bytes of words: unions, memcpy between types, and a checksum.
#include <phineus.h>
union word { uint32_t all; uint8_t bytes[4]; };
PH_MAIN void bytes(PH_IN(a) const uint32_t x[5], PH_IN(b) const uint8_t key[8], PH_OUT(a) uint32_t r[5],
                   PH_OUT(b) uint16_t *sum)
{
    uint64_t k;
    memcpy(&k, key, sizeof k);
    uint16_t all = 0;
    for (int i = 0; i < 5; i++) {
        union word w = {x[i]};
        w.bytes[1] ^= (uint8_t)(k >> 8 * i);
        w.bytes[3] = w.bytes[0];
        r[i] = w.all;
        for (int j = 0; j < 4; j++)
            all = (all << 1 | all >> 15) + w.bytes[j];
    }
    *sum = all;
}
