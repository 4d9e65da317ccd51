// A round of k-means in fixed point of 64 bits, new centres included.
#define PH_FIXED_BITS 64
#define PH_FIXED_FRACTION 20
#include <phineus.h>
PH_SIZE(N, 12)
PH_SIZE(K, 3)
PH_SIZE(D, 2)
PH_MAIN void kmeans(PH_IN(alice) PH_RANGE(PH_FIXED(-100), PH_FIXED(100)) const ph_fixed points[N][D],
                    PH_IN(bob) PH_RANGE(PH_FIXED(-100), PH_FIXED(100)) const ph_fixed centers[K][D],
                    PH_OUT(bob) ph_fixed moved[K][D], PH_OUT(bob) int32_t rounded[K])
{
    int cluster[N];
    for (int i = 0; i < N; i++) {
        ph_fixed best = PH_FIXED(1000000);
        int at = 0;
        for (int k = 0; k < K; k++) {
            ph_fixed distance = 0;
            for (int d = 0; d < D; d++)
                distance += ph_fixed_mul(points[i][d] - centers[k][d], points[i][d] - centers[k][d]);
            if (distance < best) {
                best = distance;
                at = k;
            }
        }
        cluster[i] = at;
    }
    for (int k = 0; k < K; k++) {
        ph_fixed sums[D] = {0};
        int count = 0;
        for (int i = 0; i < N; i++)
            if (cluster[i] == k) {
                count++;
                for (int d = 0; d < D; d++)
                    sums[d] += points[i][d];
            }
        for (int d = 0; d < D; d++)
            moved[k][d] = count > 0 ? ph_fixed_div(sums[d], ph_fixed_from_int(count + !count)) : centers[k][d];
        rounded[k] = (int32_t)(ph_fixed_round(moved[k][0]) - ph_fixed_to_int(moved[k][1]));
    }
}
