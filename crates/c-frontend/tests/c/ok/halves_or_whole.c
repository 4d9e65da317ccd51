// One way writes a half of what the other one writes whole.
#include <phineus.h>
#define N 4
PH_MAIN void f(PH_IN(a) const uint8_t c[N], PH_IN(b) const uint64_t x[N], PH_OUT(b) uint32_t r[N])
{
    union { uint64_t whole; uint32_t half[2]; } u[N];
    for (int i = 0; i < N; i++) {
        if (c[i] & 1)
            u[i].half[1] = x[i];
        else
            u[i].whole = x[i] + 7;
        r[i] = u[i].half[1];
    }
}
