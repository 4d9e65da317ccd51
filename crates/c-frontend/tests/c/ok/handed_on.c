// What an iteration leaves in memory for those behind it, where lanes would have one for all: an
// array that is set only where a secret says so, and objects that a loop allocates.
#include <phineus.h>
#include <stdlib.h>
PH_SIZE(N, 16)
struct node { int32_t value; struct node *next; };
PH_MAIN void handed_on(PH_IN(a) const int32_t x[N], PH_IN(b) const int32_t y[N],
                       PH_OUT(a, b) int32_t r[N], PH_OUT(a, b) int32_t s[7])
{
    int32_t last[3];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 3; j++)
            if (i == 0 || ((y[i] + j) & 1)) last[j] = x[i] * (j + 1);
    for (int j = 0; j < 3; j++) s[j] = last[j];

    int32_t *one[N];
    for (int i = 0; i < N; i++) { one[i] = malloc(sizeof *one[i]); *one[i] = x[i] ^ y[i]; }
    for (int i = 0; i < N; i++) r[i] = *one[N - 1 - i];

    struct node *head = NULL;
    for (int i = 0; i < N; i++) {
        struct node *new = malloc(sizeof *new);
        new->value = x[i] - y[i];
        new->next = head;
        head = new;
    }
    s[3] = head->value; s[4] = head->next->next->value;

    // These are each iteration's own.
    s[5] = s[6] = 0;
    for (int i = 0; i < N; i++) {
        int32_t own[2], *heap = malloc(2 * sizeof *heap);
        if (y[i] & 1) { own[i & 1] = x[i]; } else { own[i & 1] = y[i]; }
        heap[0] = own[i & 1] * 3; heap[1] = i;
        s[5] += heap[0]; s[6] ^= heap[0] * heap[1];
        free(heap);
    }
}
