/* phineus.h: annotations of C programs for Phineus.
 *
 * A C compiler alone takes them for nothing, so that the same file is also a plain C program: its
 * plaintext twin. docs/c.md says what a program may do.
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
#define PH_REVEAL_AS(bytes, type, bits, x, otherwise)                                              \
    __builtin_choose_expr(sizeof(x) == (bytes), phineus_reveal_##bits((type)(x)), otherwise)
#define ph_reveal(x)                                                                               \
    ((__typeof__(x))PH_REVEAL_AS(1, uint8_t, 8, x, PH_REVEAL_AS(2, uint16_t, 16, x,                \
        PH_REVEAL_AS(4, uint32_t, 32, x, PH_REVEAL_AS(8, uint64_t, 64, x,                          \
            phineus_reveal_128((unsigned __int128)(x)))))))
#else
#define ph_reveal(x) (x)
#endif

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
