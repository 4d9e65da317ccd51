// Loops with a public bound that an opened value may end sooner: each turn knows its index.
// instructions: 900
#include <phineus.h>
PH_SIZE(N, 24)
PH_MAIN void f(PH_IN(a) PH_RANGE(0, 31) const uint8_t table[N], PH_IN(b) PH_RANGE(0, 24) uint8_t count, PH_IN(b) PH_RANGE(0, 31) uint8_t key,
               PH_OUT(a, b) int32_t *at, PH_OUT(a, b) uint32_t *sum, PH_OUT(a, b) uint8_t *rounds)
{
    *at = -1;
    for (int i = 0; i < N; i++)
        if (ph_reveal(table[i] == key)) {
            *at = i;
            break;
        }
    int n = ph_reveal(count);
    uint32_t all = 0;
    for (int i = 0; i < N && i < n; i++)
        all += table[i] * (uint32_t)i;
    uint8_t r = 0;
    do {
        all = all * 3 + table[r];
        r++;
    } while (r < 5 && ph_reveal(all % 4 != 0));
    *sum = all;
    *rounds = r;
}
