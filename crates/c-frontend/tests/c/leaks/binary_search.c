// The bounds of the search become secrets, and nothing else ends it.
#include <phineus.h>
PH_MAIN PH_OUT(a, b) int find(PH_IN(a) const uint32_t x[16], PH_IN(b) uint32_t key)
{
    int low = 0, high = 15;
    while (low <= high) { // leak: how often this loop runs depends on a secret
        int middle = (low + high) / 2;
        if (x[middle] == key)
            return middle;
        if (x[middle] < key)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}
