// A function that returns from the middle of its loop as soon as an opened value says so.
#include <phineus.h>
PH_SIZE(N, 10)
PH_MAIN PH_OUT(a) int32_t f(PH_IN(a) const uint8_t table[N], PH_IN(b) uint8_t key)
{
    for (int i = 0; i < N; i++)
        if (ph_reveal(table[i] % 8 == key % 8))
            return i;
    return -1;
}
