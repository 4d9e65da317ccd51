// A prototype and a definition that are both annotated, tables of several dimensions, a range up to
// the largest number that there is, and pointers that go down to the one before an array.
#include <phineus.h>
PH_SIZE(N, 3)
PH_OUT(a, b) PH_MAIN uint32_t signature(PH_IN(a) const int16_t x[N][2][4],
                                        PH_IN(b) PH_RANGE(0, UINT64_MAX) uint64_t y,
                                        PH_IN(b) int64_t z, PH_OUT(b) int32_t r[N][4][2]);
PH_OUT(a, b) PH_MAIN uint32_t signature(PH_IN(a) const int16_t x[N][2][4],
                                        PH_IN(b) PH_RANGE(0, UINT64_MAX) uint64_t y,
                                        PH_IN(b) PH_RANGE(INT64_MIN, 0) int64_t z,
                                        PH_OUT(b) int32_t r[N][4][2])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 4; k++)
                r[N - 1 - i][k][j] = x[i][j][k] * (j + 1);
    int32_t h[N], sum = 0;
    for (int i = 0; i < N; i++) h[i] = x[i][1][2];
    for (int32_t *p = h + N - 1; p >= h; p--) sum = sum * 3 + *p;
    return (uint32_t)(y >> 32) + (uint32_t)z + (uint32_t)sum;
}
