// The marker for a linear layer, on signed integers.
// instructions: 27
#include <phineus.h>
PH_SIZE(ROWS, 20)
PH_SIZE(COLS, 6)
PH_MAIN void layer(PH_IN(server) const int32_t W[ROWS][COLS], PH_IN(client) const int32_t x[COLS],
                   PH_IN(server) const int32_t b[ROWS], PH_OUT(client) int32_t y[ROWS])
{
    ph_linear_layer(y, W, x, b, ROWS, COLS);
}
