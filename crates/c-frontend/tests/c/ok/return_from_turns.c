// A function returns from within a loop whose end is opened, inside a loop with a public bound: the
// next turn of the outer loop comes to the inner one anew, which is no turn of it.
// instructions: 640
#include <phineus.h>
PH_SIZE(N, 8)
static int32_t sum(const int32_t *x, int n)
{
    // None is of a loop: at the end of such a one all exits would meet.
    int32_t all = 0, t;
    int i;
    for (i = 0; i < N; i++) {
        if (i >= n)
            break;
        t = x[i];
        while (ph_reveal(t > 5)) {
            t -= 70;
            all += i;
            if (ph_reveal(all == 13))
                return 5;
        }
        all += t;
    }
    return all;
}

// Two loops around it, and more exits than one that meet again before the next turn.
static int32_t steps(const int32_t *x, int32_t y)
{
    int32_t all = 0, t;
    int i, j;
    for (i = 0; i < 2; i++) {
        for (j = 0; j < 3; j++) {
            t = x[3 * i + j] + y;
            for (;;) {
                if (ph_reveal(t > 200))
                    return all + 1000 * i + j;
                if (ph_reveal(t > 60)) {
                    all += 7;
                    break;
                }
                if (ph_reveal(t < 0))
                    break;
                t += 17;
                all ^= t;
            }
            all += x[3 * i + j];
        }
        all *= 3;
    }
    return all;
}

PH_MAIN void f(PH_IN(a) PH_RANGE(-20, 250) const int32_t x[N],
               PH_IN(b) PH_RANGE(0, 8) const uint8_t *n, PH_OUT(a, b) int32_t r[2])
{
    r[0] = sum(x, ph_reveal(*n));
    r[1] = steps(x, *n);
}
