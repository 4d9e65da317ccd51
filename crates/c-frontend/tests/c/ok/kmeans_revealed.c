// k-means until no point moves to another cluster, at most ROUNDS times.
#include <phineus.h>
PH_SIZE(N, 16)
PH_SIZE(K, 3)
PH_SIZE(ROUNDS, 20)
PH_MAIN void kmeans(PH_IN(a) PH_RANGE(0, 1000) const int32_t x[N],
                    PH_IN(b) PH_RANGE(0, 1000) const int32_t y[N],
                    PH_OUT(a, b) int32_t cx[K], PH_OUT(a, b) int32_t cy[K])
{
    uint8_t belongs[N];
    for (int i = 0; i < N; i++)
        belongs[i] = 0;
    for (int k = 0; k < K; k++) {
        cx[k] = x[k];
        cy[k] = y[k];
    }
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t moved = 0;
        int32_t sum_x[K], sum_y[K], count[K];
        for (int k = 0; k < K; k++)
            sum_x[k] = sum_y[k] = count[k] = 0;
        for (int i = 0; i < N; i++) {
            int32_t least = INT32_MAX;
            uint8_t best = 0;
            for (int k = 0; k < K; k++) {
                int32_t dx = x[i] - cx[k], dy = y[i] - cy[k];
                int32_t d = dx * dx + dy * dy;
                if (d < least) {
                    least = d;
                    best = (uint8_t)k;
                }
            }
            moved += best != belongs[i];
            belongs[i] = best;
            for (int k = 0; k < K; k++) {
                int32_t own = best == k;
                sum_x[k] += own * x[i];
                sum_y[k] += own * y[i];
                count[k] += own;
            }
        }
        for (int k = 0; k < K; k++)
            if (count[k] > 0) {
                cx[k] = sum_x[k] / count[k];
                cy[k] = sum_y[k] / count[k];
            }
        if (round > 0 && ph_reveal(moved == 0))
            break;
    }
}
