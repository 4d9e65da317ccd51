/* Loops that end at a public bound or an opened one, where both are looked at together: in a helper
   that returns from within, with | in place of ||, and where a product with the public one decides. */
#include <phineus.h>

PH_SIZE(N, 8)

static int32_t walk(const int32_t *x, int n) {
  int32_t sum = 0;
  for (int i = 0; i < N; i++) {
    if (i >= n) break;
    if (ph_reveal(x[i] < -500)) continue;
    if (ph_reveal(sum > 500)) return 7;
    sum += x[i];
  }
  return sum;
}

PH_MAIN void bounds(PH_IN(alice) PH_RANGE(-1000, 1000) const int32_t x[N],
                    PH_IN(bob) PH_RANGE(0, 8) const uint8_t *n,
                    PH_OUT(alice, bob) int32_t result[3]) {
  int count = ph_reveal(*n);
  result[0] = walk(x, count);
  int32_t sum = 0;
  for (int i = 0;; i++) {
    if ((i >= N) | (i >= count)) break;
    if (ph_reveal(sum > 500)) {
      sum = 7;
      break;
    }
    sum += x[i];
  }
  result[1] = sum;
  int32_t most = 0;
  for (int i = 0; ((i < N) * (i < count)) != 0; i++) most = x[i] > most ? x[i] : most;
  result[2] = most;
}
