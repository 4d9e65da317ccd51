// A join of two tables by key: what matches, summed up.
#include <phineus.h>
PH_SIZE(N, 12)
PH_SIZE(M, 10)
struct order { uint32_t customer; uint16_t amount; bool paid; };
struct customer { uint32_t id; int8_t region; };
PH_MAIN PH_OUT(shop, bank) uint64_t join(PH_IN(shop) const struct order orders[N],
                                         PH_IN(bank) const struct customer customers[M])
{
    uint64_t total = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            if ((orders[i].customer & 7) == (customers[j].id & 7) && orders[i].paid
                && customers[j].region > 0)
                total += orders[i].amount;
    return total;
}
