// What there is of C's library, on secrets.
#include <phineus.h>
#include <strings.h>
#define n 3
struct key { uint32_t low; uint16_t high; uint16_t kind; };
PH_MAIN void f(PH_IN(a) const uint8_t x[8], PH_IN(b) const uint8_t y[8],
               PH_IN(b) const struct key k[2], PH_IN(b) int64_t m, PH_OUT(a, b) int32_t r[16])
{
    uint8_t z[8], text[8] = { 0 };
    memcpy(z, x, 8);
    z[6] = y[6];
    r[0] = memcmp(x, y, 8) < 0;
    r[1] = memcmp(x, z, 8) > 0;
    r[2] = memcmp(x, z, 6) == 0;
    r[3] = memcmp(&k[0], &k[1], sizeof *k) == 0;
    r[4] = bcmp(x, z, 8) != 0;
    r[5] = abs(x[0] - y[0]);
    r[6] = labs((long)x[1] - y[1]);
    r[7] = llabs(m >> 33);
    bcopy(x, z, 8);
    memmove(z + 1, z, 5);
    r[8] = z[3] + z[5];
    bzero(z, n);
    r[9] = z[0] + z[2] + z[n];
    for (int i = 0; i < 8; i++)
        text[i] = x[i] & 3;
    r[10] = strnlen((char *)text, 8);
    r[11] = strncmp((char *)text, "\1\2", 8) < 0;
    uint8_t other[8];
    for (int i = 0; i < 8; i++)
        other[i] = y[i] & 1 ? text[i] : y[i] & 3;
    r[12] = strncmp((char *)text, (char *)other, 5) == 0;
    r[13] = strncmp((char *)other, (char *)text, 8) > 0;
    memset(z, y[0], 2);
    r[14] = z[1] + z[2];
    r[15] = memcmp("abc", "abd", n) < 0;
}
