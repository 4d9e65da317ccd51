// CRC-32 bit by bit, and Adler-32.
#include <phineus.h>
PH_SIZE(N, 6)
PH_MAIN void f(PH_IN(a) const uint8_t data[N], PH_OUT(a) uint32_t r[2])
{
    uint32_t crc = ~0u, low = 1, high = 0;
    for (int i = 0; i < N; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (0xEDB88320u & -(crc & 1));
        low = (low + data[i]) % 65521;
        high = (high + low) % 65521;
    }
    r[0] = ~crc;
    r[1] = high << 16 | low;
}
