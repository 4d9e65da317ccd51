// Addresses that change from turn to turn of a loop whose end is opened, or by the way that is taken:
// through an array, along a list, two buffers in turns, and what LLVM makes of the copy of a word.
#include <phineus.h>
struct node { uint32_t value; struct node *next; };
static uint32_t until(const uint32_t *p, uint32_t most)
{
    uint32_t sum = 0;
    while (ph_reveal(sum < most))
        sum += *p++ % 64 + 1;
    return sum;
}
PH_MAIN void f(PH_IN(a) PH_RANGE(0, 200) const uint32_t x[12], PH_IN(b) const uint8_t y[8],
               PH_OUT(a, b) uint32_t r[8])
{
    uint32_t words[12], front[4], back[4], *now = front, *other = back;
    for (int i = 0; i < 12; i++)
        words[i] = x[i] * 3;
    r[0] = until(words, y[0] % 8);
    for (int n = ph_reveal(y[1]) & 7; n > 0; n--)
        memcpy(&words[1], x, sizeof words[1]);
    r[1] = words[1];

    struct node list[5];
    for (int i = 0; i < 5; i++) {
        list[i].value = y[i] & 3;
        list[i].next = i < 4 ? &list[i + 1] : NULL;
    }
    struct node *at = list;
    uint32_t steps = 0;
    do {
        steps += at->value;
        at = at->next;
    } while (ph_reveal(at != NULL && steps < 5));
    r[2] = steps;
    r[3] = at ? at->value : 77;

    for (int i = 0; i < 4; i++) {
        front[i] = x[i];
        back[i] = 0;
    }
    uint32_t turns = y[2] & 3;
    while (ph_reveal(turns > 0)) {
        for (int i = 0; i < 4; i++)
            other[i] = now[i] + now[(i + 1) % 4];
        uint32_t *swap = now;
        now = other;
        other = swap;
        turns--;
    }
    r[4] = now[0] + now[3];
    const uint32_t *which = x;
    if (ph_reveal(y[3] > 100)) {
        which = words;
        r[1]++;
        words[2] ^= x[0];
    }
    r[5] = which[2];
    uint32_t *secret = &words[3];
    while (ph_reveal((*secret & 3) != 0)) {
        *secret -= 1;
        if (y[4] & 1)
            secret = &words[4];
    }
    r[6] = words[3];
    r[7] = words[4];
}
