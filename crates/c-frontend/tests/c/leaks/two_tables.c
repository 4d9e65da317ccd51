// An array with the name of a party that brings an integer by value, and one called as the result.
#include <phineus.h>
PH_MAIN PH_OUT(a) int f(PH_IN(a) int x,
                        PH_IN(b) const int a[3], // leak: two inputs are called 'a'
                        PH_OUT(a) int *result) // leak: two outputs are called 'result'
{
    *result = x;
    return x + a[0];
}
