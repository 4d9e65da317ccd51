// Annotations on a function that is not the computation.
#include <phineus.h>
PH_OUT(a) uint32_t g(uint32_t x) { return x; } // leak: 'g', which is not the computation
PH_MAIN PH_OUT(a) uint32_t f(PH_IN(a) uint32_t x) { return g(x); }
