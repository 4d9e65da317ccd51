// Logistic scoring in fixed point: one sum of products for each row, a sigmoid of three pieces.
// instructions: 100
#include <phineus.h>
PH_SIZE(N, 20)
PH_SIZE(D, 6)
struct score { ph_fixed chance; bool accepted; };
PH_MAIN void score(PH_IN(alice) PH_RANGE(PH_FIXED(-4), PH_FIXED(4)) const ph_fixed rows[N][D],
                   PH_IN(bob) PH_RANGE(PH_FIXED(-2), PH_FIXED(2)) const ph_fixed weights[D],
                   PH_IN(bob) PH_RANGE(PH_FIXED(-2), PH_FIXED(2)) const ph_fixed *bias,
                   PH_OUT(alice) struct score scores[N])
{
    for (int i = 0; i < N; i++) {
        ph_fixed_wide sum = 0;
        for (int d = 0; d < D; d++)
            sum += ph_fixed_product(rows[i][d], weights[d]);
        ph_fixed z = ph_fixed_narrow(sum) + *bias;
        // 1/2 + z/4, between 0 and 1.
        ph_fixed chance = PH_FIXED(0.5) + (z >> 2);
        if (chance < 0)
            chance = 0;
        if (chance > PH_FIXED(1))
            chance = PH_FIXED(1);
        scores[i].chance = chance;
        scores[i].accepted = chance >= PH_FIXED(0.75);
    }
}
