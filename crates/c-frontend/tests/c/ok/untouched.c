// Arrays of which little is used: what is not touched costs nothing, and is what C says.
#include <phineus.h>
#include <stdlib.h>

struct entry {
    uint8_t tag;
    int64_t value;
    const int32_t *at;
    uint16_t parts[3];
};

static int32_t big[100000000];
static uint8_t table[200000000];
static struct entry entries[50000] = {[3] = {7, -5, &big[9], {1, 2, 3}}, [40000] = {.value = 11}};
static int32_t other[2000][3000] = {[1500] = {[7] = 5, [8] = -6}};
static struct {
    uint8_t first;
    int64_t all[1000000];
    uint16_t last;
} mixed;

// instructions: 260
PH_MAIN void f(PH_IN(a) const int32_t x[4], PH_IN(b) int32_t y, PH_OUT(a, b) int64_t r[17])
{
    big[7] = x[0];
    big[99999999] = x[1] + y;
    r[0] = big[7] + big[8];
    r[1] = big[99999999] ^ big[50000000];
    // Bytes of a word, and a word of bytes that are not aligned.
    table[123456789] = (uint8_t)y;
    uint32_t word;
    memcpy(&word, &table[123456787], sizeof word);
    r[2] = word;
    memcpy(&table[1023], &x[2], sizeof x[2]);
    r[3] = table[1022] | table[1024] << 8 | table[1027] << 16;
    r[4] = entries[3].value + entries[3].tag + *entries[3].at + entries[3].parts[2];
    r[5] = entries[40000].value + entries[40000].tag + entries[49999].parts[1];
    r[6] = entries[12].at == 0;
    if (y > 3) {
        entries[100].value = x[3];
        entries[40000].parts[1] = 9;
        big[1024] = x[0];
        mixed.all[999999] = y;
    }
    r[7] = entries[100].value + entries[40000].parts[1];
    r[8] = big[1024] + big[1023];
    r[9] = other[1500][7] + other[1500][8] + other[1999][2999];
    other[1500][9] = y;
    r[10] = other[1500][9] - other[1501][9];
    r[11] = mixed.all[999999] + mixed.last + mixed.first + mixed.all[4];
    int64_t *heap = calloc(30000000, sizeof *heap);
    heap[29999999] = y;
    r[12] = heap[29999999] + heap[17];
    ((uint8_t *)heap)[3] = 1;
    r[13] = heap[0];
    for (int i = 0; i < 4; i++)
        big[2000 + 5000 * i] = x[i];
    r[14] = big[2000] + big[17000] - big[2001];
    struct entry copy = entries[3];
    r[15] = copy.value + copy.parts[0] + (copy.at == &big[9]);
    free(heap);
    r[16] = table[123456788] + 1;
}
