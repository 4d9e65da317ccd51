// Two computations.
#include <phineus.h>
PH_MAIN PH_OUT(a) uint32_t f(PH_IN(a) uint32_t x) { return x; }
PH_MAIN PH_OUT(a) uint32_t g(PH_IN(a) uint32_t x) { return x; } // leak: a second PH_MAIN
