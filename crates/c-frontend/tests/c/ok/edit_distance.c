// Levenshtein distance: a table whose cells depend on each other.
#include <phineus.h>
PH_SIZE(N, 7)
PH_SIZE(M, 6)
static uint8_t least(uint8_t a, uint8_t b) { return a < b ? a : b; }
PH_MAIN PH_OUT(a, b) uint8_t distance(PH_IN(a) const uint8_t s[N], PH_IN(b) const uint8_t t[M])
{
    uint8_t d[N + 1][M + 1];
    for (int i = 0; i <= N; i++)
        d[i][0] = i;
    for (int j = 0; j <= M; j++)
        d[0][j] = j;
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= M; j++) {
            uint8_t change = d[i - 1][j - 1] + (s[i - 1] % 4 != t[j - 1] % 4);
            d[i][j] = least(change, least(d[i - 1][j], d[i][j - 1]) + 1);
        }
    return d[N][M];
}
