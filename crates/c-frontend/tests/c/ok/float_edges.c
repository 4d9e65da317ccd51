// Bits of any kind as floating-point numbers: NaNs, infinities, zeros and subnormal numbers among them.
#include <math.h>
#include <phineus.h>
PH_SIZE(N, 96)
static float number(uint32_t bits, uint32_t how)
{
    // All bits, or an exponent at an edge, or near 1.
    uint32_t sign = bits & 0x80000000u, fraction = bits & 0x7fffffu;
    switch (how % 8) {
    case 0: bits = sign | fraction; break;
    case 1: bits = sign | 0x7f800000u | (how & 8 ? fraction : 0); break;
    case 2: bits = sign; break;
    case 3: bits = sign | 0x7f000000u | fraction; break;
    case 4: bits = sign | 0x00800000u | fraction; break;
    case 5: bits = sign | (0x3f800000u + (how >> 8) % 0x0c000000u); break;
    default: break;
    }
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
PH_MAIN void f(PH_IN(a) const uint32_t x[N], PH_IN(a) const uint32_t how_x[N], PH_IN(b) const uint32_t y[N],
    PH_IN(b) const uint32_t how_y[N], PH_OUT(a) float result[N][8], PH_OUT(a) uint8_t truth[N][12],
    PH_OUT(a) double wide[N])
{
    for (int i = 0; i < N; i++) {
        float a = number(x[i], how_x[i]), b = number(y[i], how_y[i]);
        result[i][0] = a + b;
        result[i][1] = a - b;
        result[i][2] = a * b;
        result[i][3] = a / b;
        result[i][4] = sqrtf(fabsf(a));
        result[i][5] = floorf(a) + ceilf(b);
        result[i][6] = truncf(a) - rintf(b) + roundf(a);
        result[i][7] = -a;
        truth[i][0] = a < b;
        truth[i][1] = a <= b;
        truth[i][2] = a == b;
        truth[i][3] = a != b;
        truth[i][4] = !(a < b);
        truth[i][5] = a > b || a < -b;
        truth[i][6] = isnan(a);
        truth[i][7] = isinf(a);
        truth[i][8] = isfinite(a);
        truth[i][9] = isnormal(a);
        truth[i][10] = signbit(a) != 0;
        truth[i][11] = isunordered(a, b) || islessgreater(a, b);
        wide[i] = (double)a * 3.0 + (double)b / 7.0;
    }
}
