// Deep nesting: run-time loops in a run-time loop, a bounded loop of secrets, a switch, globals and structures.
#include <phineus.h>
PH_SIZE(N, 6)
struct account { uint32_t owner; uint32_t balance; bool frozen; };
static uint32_t fees;
static void charge(struct account *account, uint32_t fee)
{
    if (account->balance >= fee) {
        account->balance -= fee;
        fees += fee;
    } else {
        account->frozen = true;
    }
}
PH_MAIN void f(PH_IN(a) struct account all[N], PH_IN(b) PH_RANGE(0, 4) const uint8_t days[3],
               PH_OUT(a, b) uint32_t balances[N], PH_OUT(b) uint32_t *income, PH_OUT(a) uint32_t *turns)
{
    uint32_t count = 0;
    for (int week = 0; week < 3; week++) {
        int n = ph_reveal(days[week]), day = 0;
        while (day < n) {
            for (int i = 0; i < N; i++)
                charge(&all[i], (uint32_t)(1000 * (week + 1)) + (all[i].owner & 255));
            uint32_t left = all[week].balance & 7;
            while (ph_reveal(left != 0)) {
                left &= left - 1;
                count++;
            }
            switch (day & 3) {
            case 0: all[0].balance ^= 1; break;
            case 1: charge(&all[1], 5); break;
            default: count += 100;
            }
            day++;
        }
    }
    for (int i = 0; i < N; i++)
        balances[i] = all[i].frozen ? 0 : all[i].balance;
    *income = fees;
    *turns = count;
}
