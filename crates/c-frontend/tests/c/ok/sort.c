// A bubble sort: compare and exchange without branches on secrets that cannot be converted.
// instructions: 140
#include <phineus.h>
PH_SIZE(N, 9)
PH_MAIN void sort(PH_IN(a) const int32_t x[N], PH_OUT(a) int32_t sorted[N])
{
    for (int i = 0; i < N; i++)
        sorted[i] = x[i];
    for (int i = 0; i < N; i++)
        for (int j = 0; j + 1 < N - i; j++)
            if (sorted[j] > sorted[j + 1]) {
                int32_t t = sorted[j];
                sorted[j] = sorted[j + 1];
                sorted[j + 1] = t;
            }
}
