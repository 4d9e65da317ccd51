// Leaving a loop early on a secret: the bound stays public.
// instructions: 275
#include <phineus.h>
PH_MAIN PH_OUT(a) int32_t search(PH_IN(a) const uint8_t text[24], PH_IN(b) uint8_t wanted)
{
    int32_t at = -1;
    for (int i = 0; i < 24; i++)
        if (text[i] % 16 == wanted % 16) {
            at = i;
            break;
        }
    return at;
}
