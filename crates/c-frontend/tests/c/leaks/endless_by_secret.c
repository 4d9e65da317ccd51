// Loops without a way out that a secret, or what is opened, decides to enter; one that is never
// entered, and a way that C says is never taken.
#include <phineus.h>
PH_SIZE(N, 8)
static void hang(uint32_t *r)
{
    for (;;) // leak: this loop never ends
        r[7] ^= 1;
}
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = x[i];
    if (y == 0)
        for (;;) { } // leak: this loop never ends
    if (N == 9)
        for (;;) { }
    if (y == 1)
        for (;;) // leak: this loop never ends
            r[0] += 1;
    if (y == 2) {
        r[6] = 0;
        __builtin_unreachable();
    }
    if (ph_reveal(x[1] == 7))
        for (;;) // leak: this loop never ends
            r[2] += 1;
    switch (y) {
    case 5:
        for (uint32_t i = 0;; i++) // leak: this loop never ends
            for (uint32_t j = 0; j < 8; j++)
                r[j] += i;
    case 6:
        r[1] = 9;
    }
    if (y == 9)
        hang(r);
    if (y == 8) {
        if (x[0] & 1)
            goto second;
    first:
        r[3] += y;
    second:
        r[4] += r[3];
        goto first; // leak: this loop never ends
    }
}
