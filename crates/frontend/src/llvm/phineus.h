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
#define PH_SIZE(name, value) phineus_mark(size, name, value);
#define PH_MAIN phineus_mark(main)
#define PH_IN(party) phineus_mark(in, party)
#define PH_OUT(...) phineus_mark(out, __VA_ARGS__)
#define PH_RANGE(low, high) phineus_mark(range, low, high)
#else
/* With -DPH_PARAM_N=0,2048 the second of three is 2048, without it the default. */
#define PH_SIZE(name, value) enum { name = PH_PICK(PH_PARAM_##name, value, value) };
#define PH_MAIN
#define PH_IN(party)
#define PH_OUT(...)
#define PH_RANGE(low, high)
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
