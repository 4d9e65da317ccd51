// Several mistakes are all found in one go.
#include <phineus.h>
uint32_t nothing(uint32_t);
PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) uint32_t y, PH_OUT(a, b) uint32_t r[8])
{
    for (int i = 0; i < 8; i++)
        r[i] = 0;
    for (uint32_t i = 0; i < y; i++) // leak: how often this loop runs
        r[0]++;
    r[1] = x[9]; // leak: out of bounds
    memset(r, 0, y); // leak: how much is set here
    r[2] = nothing(y); // leak: the function 'nothing'
}
