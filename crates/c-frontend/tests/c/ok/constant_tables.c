// Tables of constants at secret indices: of all types, sparse, of two dimensions, in loops that run in lanes, in branches.
#include <phineus.h>
#define CUBE(x) (uint8_t)((x) * (x) * (x) ^ (x) << 3)
#define FOUR(x) CUBE(x), CUBE(x + 1), CUBE(x + 2), CUBE(x + 3)
#define SIXTEEN(x) FOUR(x), FOUR(x + 4), FOUR(x + 8), FOUR(x + 12)
static const uint8_t cubes[64] = {SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)};
static const int16_t steps[5] = {-3, 200, 7, -300, 1};
static const uint64_t wide[7] = {1, UINT64_MAX, 0, 5, UINT64_MAX / 3, 1ull << 40, 9};
static const _Bool marks[11] = {1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0};
static const int32_t rows[3][4] = {{1, -2, 3, -4}, {5, 6, 7, 8}, {-9, 10, -11, 12}};
PH_MAIN void constant_tables(PH_IN(a) const uint8_t x[24], PH_IN(b) const uint8_t y[24],
                             PH_OUT(a, b) uint8_t cube[24], PH_OUT(a) int32_t step[24], PH_OUT(b) uint64_t far[24],
                             PH_OUT(a, b) uint32_t *count, PH_OUT(b) int32_t *cell)
{
    int sum = 0;
    for (int i = 0; i < 24; i++)
        cube[i] = cubes[(x[i] ^ y[i]) & 63];
    for (int i = 0; i < 24; i++) {
        step[i] = steps[x[i] % 5] * 2;
        if (y[i] & 1)
            step[i] += steps[y[i] % 4 + 1];
        far[i] = wide[y[i] % 7];
    }
    *count = 0;
    for (int i = 0; i < 24; i++) {
        *count += marks[x[i] % 11];
        sum += rows[y[i] % 3][x[i] & 3];
    }
    *cell = sum;
}
