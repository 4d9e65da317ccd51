// The nearest of three centres of each point, and the centres of those that are nearest.
#include <phineus.h>
PH_SIZE(N, 24)
enum { K = 3, D = 2 };
PH_MAIN void kmeans(PH_IN(alice) const float point[N][D], PH_IN(bob) const float start[K][D],
    PH_OUT(alice, bob) float centre[K][D])
{
    for (int k = 0; k < K; k++)
        for (int d = 0; d < D; d++)
            centre[k][d] = start[k][d];
    for (int round = 0; round < 2; round++) {
        float sum[K][D] = {0};
        int32_t count[K] = {0};
        for (int i = 0; i < N; i++) {
            int nearest = 0;
            float least = 1e30f;
            for (int k = 0; k < K; k++) {
                float distance = 0;
                for (int d = 0; d < D; d++) {
                    float difference = point[i][d] - centre[k][d];
                    distance += difference * difference;
                }
                if (distance < least) {
                    least = distance;
                    nearest = k;
                }
            }
            for (int k = 0; k < K; k++)
                for (int d = 0; d < D; d++)
                    if (nearest == k)
                        sum[k][d] += point[i][d];
            for (int k = 0; k < K; k++)
                count[k] += nearest == k;
        }
        for (int k = 0; k < K; k++)
            for (int d = 0; d < D; d++)
                if (count[k] > 0)
                    centre[k][d] = sum[k][d] / (float)count[k];
    }
}
