// Arrays in a structure of which there is one are tables of their own.
#include <phineus.h>
#define range 16
typedef struct { int16_t kernel[2][4]; struct { int32_t bias[2]; bool on; } last; uint8_t shift; } model;
typedef struct { int32_t sums[2]; uint32_t seen; } answer;
PH_MAIN void apply(PH_IN(a) const model *m, PH_IN(b) PH_RANGE(-range, range) const int8_t x[4], PH_OUT(a, b) answer *out)
{
    out->seen = 0;
    for (int i = 0; i < 2; i++) {
        out->sums[i] = m->last.on ? m->last.bias[i] : 0;
        for (int j = 0; j < 4; j++)
            out->sums[i] += m->kernel[i][j] * x[j];
        out->sums[i] >>= m->shift & 7;
        out->seen += out->sums[i] > 0;
    }
}
