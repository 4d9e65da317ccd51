// Looks for a key and stops where it is; nested loops, one of them with a bound opened on the way.
#include <phineus.h>
PH_SIZE(N, 10)
static int find(const uint8_t *table, uint8_t key)
{
    for (int i = 0; i < N; i++)
        if (ph_reveal(table[i] % 8 == key % 8))
            return i;
    return -1;
}
PH_MAIN void f(PH_IN(a) const uint8_t table[N], PH_IN(b) const uint8_t keys[3],
               PH_OUT(a, b) int32_t at[3], PH_OUT(b) uint32_t *folded)
{
    uint32_t all = 1;
    for (int k = 0; k < 3; k++) {
        at[k] = find(table, keys[k]);
        int end = ph_reveal(keys[k] % 5);
        for (int i = 0; i < end; i++) {
            int j = 0;
            while (j < i) {
                all = all * 5 + table[k] + (uint32_t)(i * j);
                j++;
            }
            if (at[k] == i)
                break;
        }
    }
    *folded = all;
}
