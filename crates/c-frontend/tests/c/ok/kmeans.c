// One round of k-means: assignment, sums and counts of each cluster.
// instructions: 1200
#include <phineus.h>
PH_SIZE(N, 30)
PH_SIZE(K, 3)
PH_SIZE(D, 2)
PH_MAIN void kmeans(PH_IN(alice) PH_RANGE(0, 1000) const int32_t points[N][D],
                    PH_IN(bob) PH_RANGE(0, 1000) const int32_t centers[K][D],
                    PH_OUT(bob) int32_t sums[K][D], PH_OUT(bob) int32_t counts[K])
{
    uint32_t cluster[N];
    for (int i = 0; i < N; i++) {
        uint32_t best = UINT32_MAX, at = 0;
        for (int k = 0; k < K; k++) {
            uint32_t distance = 0;
            for (int d = 0; d < D; d++) {
                int32_t delta = points[i][d] - centers[k][d];
                distance += delta * delta;
            }
            if (distance < best) {
                best = distance;
                at = k;
            }
        }
        cluster[i] = at;
    }
    for (int k = 0; k < K; k++) {
        counts[k] = 0;
        for (int d = 0; d < D; d++)
            sums[k][d] = 0;
        for (int i = 0; i < N; i++)
            if (cluster[i] == k) {
                counts[k]++;
                for (int d = 0; d < D; d++)
                    sums[k][d] += points[i][d];
            }
    }
}
