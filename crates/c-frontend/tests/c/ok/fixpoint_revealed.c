// Reachable nodes of a secret graph: until nothing changes, or as often as there are nodes.
#include <phineus.h>
PH_SIZE(N, 8)
PH_MAIN void reach(PH_IN(a) const uint8_t edge[N][N], PH_IN(b) PH_RANGE(0, 7) uint8_t start,
                   PH_OUT(a, b) bool reached[N], PH_OUT(a) uint32_t *rounds)
{
    for (int i = 0; i < N; i++)
        reached[i] = i == start;
    uint32_t turns = 0;
    bool changed;
    do {
        changed = false;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                if (reached[i] && edge[i][j] < 40 && !reached[j]) {
                    reached[j] = true;
                    changed = true;
                }
        turns++;
    } while (ph_reveal(changed));
    *rounds = turns;
}
