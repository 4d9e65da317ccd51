// Rows, columns and transposes in lanes.
#include <phineus.h>
PH_SIZE(N, 12)
PH_MAIN void strides(PH_IN(a) const uint32_t x[N][N], PH_OUT(a) uint32_t t[N][N], PH_OUT(b) uint32_t rows[N],
                     PH_OUT(b) uint32_t columns[N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            t[j][i] = x[i][j] + 1;
    for (int i = 0; i < N; i++) {
        uint32_t row = 0, column = 0;
        for (int j = 0; j < N; j++) {
            row += t[i][j];
            column ^= t[j][i];
        }
        rows[i] = row;
        columns[i] = column;
    }
}
