// Rows with bytes that belong to nothing, copied whole; and places of lanes that are chosen.
#include <phineus.h>
#define N 6
struct item {
    uint8_t kind;
    uint32_t price;
};
static int is_here(const uint8_t *x, const uint8_t *place, int i) { return place == x + i; }
PH_MAIN void f(PH_IN(a) const struct item x[N], PH_IN(b) PH_RANGE(0, 5) const uint8_t which[N],
               PH_IN(b) const uint8_t y[N], PH_OUT(b) uint32_t r[5 * N])
{
    struct item local[N];
    for (int i = 0; i < N; i++)
        local[i] = x[i];
    const uint8_t *chosen = y + which[0];
    for (int i = 0; i < N; i++) {
        r[i] = local[i].price + local[i].kind;
        r[N + i] = is_here(y, chosen, i);
    }
    for (int i = 0; i < N; i++) {
        struct item one = x[which[i]];
        r[2 * N + i] = one.price ^ one.kind;
    }
    for (int i = 0; i < N; i++) {
        const uint8_t *near = which[i] > 2 || i == 0 ? y + i : y + i - 1;
        r[3 * N + i] = *near;
    }
    for (int i = 0; i < N; i++) {
        uint32_t *to = which[i] > 2 || i == N - 1 ? r + 4 * N + i : r + 4 * N + i + 1;
        r[4 * N + i] = 0;
        *to = which[i];
    }
}
