// An inner loop that secrets leave by two exits: to its end, and to that of all around it.
#include <phineus.h>
#define N 4
#define M 3
static int place(const uint8_t *a, const uint8_t *b)
{
    int i, j;
    for (i = 0; i < N; i++)
        if (i == 1)
            for (j = 0; j < M; j++) {
                if (a[j] == 0)
                    break;
                if (b[j] == 0)
                    return i;
            }
    return 9;
}
static int row(const uint8_t *a, const uint8_t *key)
{
    for (int i = 0; i < N; i++) {
        int j;
        for (j = 0; j < M; j++)
            if (a[i * M + j] != key[j])
                break;
        if (j == M)
            return i;
    }
    return -1;
}
static int first(const uint8_t *a)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            if (a[i * M + j] == 2)
                goto next;
            if (a[i * M + j] == 1)
                return 10 * i + j;
        next:;
        }
    return -1;
}
static int three(const uint8_t *a)
{
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 3; k++) {
                uint8_t x = a[i * 6 + j * 3 + k];
                if (x == 0)
                    break;
                if (x == 1)
                    goto outer;
                if (x == 2)
                    return sum;
                sum += x * (i * 100 + j * 10 + k);
            }
    outer:
        sum += 1000;
    }
    return sum;
}
#define CASES 12
PH_MAIN void f(PH_IN(a) PH_RANGE(0, 3) const uint8_t a[CASES * N * M], PH_IN(b) PH_RANGE(0, 3) const uint8_t b[CASES * M],
               PH_OUT(b) int32_t r[CASES * 4])
{
    for (int k = 0; k < CASES; k++) {
        const uint8_t *x = a + k * N * M, *y = b + k * M;
        r[4 * k] = place(x, y);
        r[4 * k + 1] = row(x, y);
        r[4 * k + 2] = first(x);
        r[4 * k + 3] = three(x);
    }
}
