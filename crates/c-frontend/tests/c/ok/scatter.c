// Reads and writes at secret indices: sizes that are no powers of two, two indices at once.
// instructions: 6000
#include <phineus.h>
typedef struct { uint8_t state[37]; uint8_t i, j; } cipher;
static uint8_t next(cipher *c)
{
    c->i = (c->i + 1) % 37;
    c->j = (c->j + c->state[c->i]) % 37;
    uint8_t t = c->state[c->i];
    c->state[c->i] = c->state[c->j];
    c->state[c->j] = t;
    return c->state[(c->state[c->i] + c->state[c->j]) % 37];
}
PH_MAIN void f(PH_IN(a) const uint8_t key[5], PH_IN(b) PH_RANGE(0, 10) const uint8_t at[12], PH_IN(b) const int64_t x[12],
               PH_OUT(a, b) uint8_t stream[6], PH_OUT(a, b) int64_t table[11], PH_OUT(b) int16_t grid[3][7], PH_OUT(a) int64_t *picked)
{
    cipher c = {.i = 0, .j = 0};
    for (int i = 0; i < 37; i++)
        c.state[i] = (uint8_t)i;
    for (int i = 0, j = 0; i < 37; i++) {
        j = (j + c.state[i] + key[i % 5]) % 37;
        uint8_t t = c.state[i];
        c.state[i] = c.state[j];
        c.state[j] = t;
    }
    for (int i = 0; i < 6; i++)
        stream[i] = next(&c);
    memset(table, 0, 11 * sizeof *table);
    memset(grid, 0, 3 * 7 * sizeof grid[0][0]);
    for (int i = 0; i < 12; i++) {
        table[at[i]] += x[i];
        grid[at[i] % 3][at[i] % 7] += (int16_t)(i + x[i]);
    }
    *picked = x[at[0]] ^ table[at[1]] ^ grid[key[0] % 3][key[1] % 7];
}
