// The arms of a branch write elements of two sizes to one array. Where one arm made rows of it, parts of a row that the
// other arm had not written were lost in the merge.
#include <phineus.h>
#include <string.h>
struct mixed { uint16_t f, g[3]; int16_t h; };
static uint32_t words[300];
PH_MAIN void write(PH_IN(a) const uint32_t x[8], PH_OUT(a, b) uint64_t of_words[300], PH_OUT(a, b) uint64_t of_structures[280])
{
    uint32_t a = x[0], b = x[1], c = x[2], d = x[3];
    ((uint8_t *)words)[397] = 1;
    memset(words, 7, sizeof words);
    if (d & 1)
        words[a % 300] = c;
    else
        ((uint8_t *)words)[d % 512] = c * 5 + b;
    struct mixed structures[280];
    for (int i = 0; i < 280; i++)
        structures[i] = (struct mixed){ i, { 1, x[i & 7], i * i }, i + 7 };
    if (c & 1) {
        struct mixed copy = structures[(c + b) % 280];
        copy.f += b >> 3;
        structures[a & 255] = copy;
    } else {
        structures[(a + d) % 280].g[c % 3] = b;
    }
    for (int i = 0; i < 300; i++)
        of_words[i] = words[i];
    for (int i = 0; i < 280; i++) {
        struct mixed *s = &structures[i];
        of_structures[i] = s->h + s->g[0] * 3 + s->g[1] * 5 + s->g[2] * 7 + s->f * 11;
    }
}
