/* phineus.h: annotations of C programs for Phineus.
 *
 * A C compiler alone takes them for nothing, so that the same file is also a plain C program: its
 * plaintext reference. docs/c.md says what a program may do.
 *
 *   PH_SIZE(N, 1024)            a public size with its default; `--param N=2048` gives another, and
 *                               the rows of a CSV file give it where an input is declared [N]
 *   PH_MAIN                     before the function that is the computation
 *   PH_IN(alice)                before a parameter: alice brings it
 *   PH_OUT(alice, bob)          before a parameter: alice and bob learn it; before PH_MAIN's result
 *                               type: they learn what it returns
 *   PH_RANGE(low, high)         before a parameter, beside PH_IN: its values lie in this range
 *   ph_reveal(x)                x, opened to all parties when the program runs: loops and branches
 *                               may depend on it, and everybody learns which way they went
 *   ph_fixed                    a fixed-point number; see below
 *   ph_linear_layer(y, W, x, b, rows, cols)
 *                               y[r] = b[r] + the sum over c of W[r][c] * x[c]
 */
#ifndef PHINEUS_H
#define PHINEUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PH_PICK_SECOND(first, second, ...) second
#define PH_PICK(...) PH_PICK_SECOND(__VA_ARGS__)

#ifdef PHINEUS_SCAN
/* Words that no other macro replaces: programs define `main`, `range`, `out`. */
#define PH_SIZE(name, value) phineus_mark(phineus_size, name, value);
#define PH_MAIN phineus_mark(phineus_main)
#define PH_IN(party) phineus_mark(phineus_in, party)
#define PH_OUT(...) phineus_mark(phineus_out, __VA_ARGS__)
#define PH_RANGE(low, high) phineus_mark(phineus_range, low, high)
#else
/* With -DPH_PARAM_N=0,2048 the second of three is 2048, without it the default. */
#define PH_SIZE(name, value) enum { name = PH_PICK(PH_PARAM_##name, value, value) };
#define PH_MAIN
#define PH_IN(party)
#define PH_OUT(...)
#define PH_RANGE(low, high)
#endif

#ifdef PHINEUS
uint8_t phineus_reveal_8(uint8_t value);
uint16_t phineus_reveal_16(uint16_t value);
uint32_t phineus_reveal_32(uint32_t value);
uint64_t phineus_reveal_64(uint64_t value);
unsigned __int128 phineus_reveal_128(unsigned __int128 value);
_Float16 phineus_reveal__Float16(_Float16 value);
float phineus_reveal_float(float value);
double phineus_reveal_double(double value);
#define PH_REVEAL_AS(bytes, type, bits, x, otherwise)                                              \
    __builtin_choose_expr(sizeof(x) == (bytes), phineus_reveal_##bits((type)(x)), otherwise)
#define PH_REVEAL_FLOAT(type, x, otherwise)                                                        \
    __builtin_choose_expr(__builtin_types_compatible_p(__typeof__(x), type),                       \
        phineus_reveal_##type((type)(x)), otherwise)
#define ph_reveal(x)                                                                               \
    ((__typeof__(x))PH_REVEAL_FLOAT(_Float16, x, PH_REVEAL_FLOAT(float, x,                         \
        PH_REVEAL_FLOAT(double, x, PH_REVEAL_AS(1, uint8_t, 8, x,                                  \
            PH_REVEAL_AS(2, uint16_t, 16, x, PH_REVEAL_AS(4, uint32_t, 32, x,                      \
                PH_REVEAL_AS(8, uint64_t, 64, x,                                                   \
                    phineus_reveal_128((unsigned __int128)(x))))))))))
#else
#define ph_reveal(x) (x)
#endif

/* Fixed-point numbers: x stands for x / 2^PH_FIXED_FRACTION, held in PH_FIXED_BITS bits. Columns of
 * this type are decimals (1.25). Sums, differences and comparisons are those of integers; all
 * wraps as integers do. Both may be defined before this file is included.
 *
 *   PH_FIXED(1.25)              a constant: the nearest number, halves away from zero
 *   ph_fixed_mul(a, b)          the product, rounded down
 *   ph_fixed_div(a, b)          the quotient, rounded towards zero; b must not be 0
 *   ph_fixed_from_int(n)        n
 *   ph_fixed_to_int(a)          rounded down; ph_fixed_round(a) to the nearest, halves up
 *   ph_fixed_wide               holds products: ph_fixed_product(a, b) is exact, sums of such are
 *   ph_fixed_narrow(w)          rounded down to a number once, which is cheaper and more precise
 */
#ifndef PH_FIXED_FRACTION
#define PH_FIXED_FRACTION 16
#endif
#ifndef PH_FIXED_BITS
#define PH_FIXED_BITS 32
#endif
#if PH_FIXED_BITS == 32
typedef int32_t ph_fixed_held;
typedef int64_t ph_fixed_wide;
#elif PH_FIXED_BITS == 64
typedef int64_t ph_fixed_held;
typedef __int128 ph_fixed_wide;
#else
#error "PH_FIXED_BITS is 32 or 64"
#endif
#if PH_FIXED_FRACTION < 1 || PH_FIXED_FRACTION > PH_FIXED_BITS - 2
#error "PH_FIXED_FRACTION is at least 1 and at most PH_FIXED_BITS - 2"
#endif
/* The name of the type says how many bits are behind the point: columns are read by it. */
#define PH_FIXED_NAMED(fraction) ph_fixed_##fraction
#define PH_FIXED_TYPE(fraction) PH_FIXED_NAMED(fraction)
typedef ph_fixed_held PH_FIXED_TYPE(PH_FIXED_FRACTION);
typedef PH_FIXED_TYPE(PH_FIXED_FRACTION) ph_fixed;

#define PH_FIXED_ONE ((ph_fixed_wide)1 << PH_FIXED_FRACTION)
#define PH_FIXED_SCALED(x) ((x) * (double)((int64_t)1 << PH_FIXED_FRACTION))
/* From 2^52 on a double is an integer, and to add a half would round it. */
#define PH_FIXED_HALF(x)                                                                           \
    (PH_FIXED_SCALED(x) >= 0x1p52 || PH_FIXED_SCALED(x) <= -0x1p52 ? 0 : (x) < 0 ? -0.5 : 0.5)
#define PH_FIXED(x) ((ph_fixed)(PH_FIXED_SCALED(x) + PH_FIXED_HALF(x)))

static inline ph_fixed_wide ph_fixed_product(ph_fixed a, ph_fixed b)
{
    return (ph_fixed_wide)a * b;
}
static inline ph_fixed ph_fixed_narrow(ph_fixed_wide w)
{
    return (ph_fixed)(w >> PH_FIXED_FRACTION);
}
static inline ph_fixed ph_fixed_mul(ph_fixed a, ph_fixed b)
{
    return ph_fixed_narrow(ph_fixed_product(a, b));
}
static inline ph_fixed ph_fixed_div(ph_fixed a, ph_fixed b)
{
    return (ph_fixed)(a * PH_FIXED_ONE / b);
}
static inline ph_fixed ph_fixed_from_int(ph_fixed_held n)
{
    return (ph_fixed)(n * PH_FIXED_ONE);
}
static inline ph_fixed_held ph_fixed_to_int(ph_fixed a)
{
    return a >> PH_FIXED_FRACTION;
}
static inline ph_fixed_held ph_fixed_round(ph_fixed a)
{
    return (ph_fixed_held)(((ph_fixed_wide)a + PH_FIXED_ONE / 2) >> PH_FIXED_FRACTION);
}

#define ph_linear_layer(y, W, x, b, rows, cols)                                                    \
    do {                                                                                           \
        for (size_t ph_row = 0; ph_row < (size_t)(rows); ph_row++) {                               \
            __typeof__((y)[0] + 0) ph_sum = (b)[ph_row];                                           \
            for (size_t ph_col = 0; ph_col < (size_t)(cols); ph_col++)                             \
                ph_sum += (__typeof__(ph_sum))(W)[ph_row][ph_col] * (x)[ph_col];                   \
            (y)[ph_row] = ph_sum;                                                                  \
        }                                                                                          \
    } while (0)

#endif
