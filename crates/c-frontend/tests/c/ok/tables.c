// Public tables, constants in structures, strings and enumerations.
#include <phineus.h>
enum kind { NONE, SMALL = 5, LARGE = 9 };
struct rule { enum kind kind; uint16_t from, to; const char *name; };
static const struct rule rules[3] = {
    {NONE, 0, 99, "none"}, {SMALL, 100, 9999, "small"}, {LARGE, 10000, 65535, "large"}};
static uint32_t calls;
PH_MAIN void tables(PH_IN(a) const uint16_t x[6], PH_OUT(a) uint32_t kinds[6], PH_OUT(a) uint8_t *first)
{
    for (int i = 0; i < 6; i++) {
        kinds[i] = 0;
        for (int j = 0; j < 3; j++)
            if (x[i] >= rules[j].from && x[i] <= rules[j].to)
                kinds[i] = rules[j].kind * 16 + rules[j].name[0];
        calls++;
    }
    *first = kinds[0] + calls;
}
