// A quarter round of ChaCha20: rotations and additions.
#include <phineus.h>
#define ROTATE(x, n) ((x) << (n) | (x) >> (32 - (n)))
PH_MAIN void quarter(PH_IN(a) const uint32_t key[4], PH_OUT(a) uint32_t out[4])
{
    uint32_t a = key[0], b = key[1], c = key[2], d = key[3];
    for (int i = 0; i < 3; i++) {
        a += b; d ^= a; d = ROTATE(d, 16);
        c += d; b ^= c; b = ROTATE(b, 12);
        a += b; d ^= a; d = ROTATE(d, 8);
        c += d; b ^= c; b = ROTATE(b, 7);
    }
    out[0] = a; out[1] = b; out[2] = c; out[3] = d;
}
