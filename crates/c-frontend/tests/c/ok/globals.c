// State in globals: counters, accumulators, a queue.
#include <phineus.h>
static uint32_t queue[16];
static int head, tail;
static uint32_t total;
static void push(uint32_t x) { queue[tail++ & 15] = x; total += x; }
static uint32_t pop(void) { return queue[head++ & 15]; }
PH_MAIN void f(PH_IN(a) const uint32_t x[10], PH_IN(b) uint32_t y, PH_OUT(a) uint32_t r[4])
{
    for (int i = 0; i < 10; i++) {
        push(x[i]);
        if (i % 3 == 2)
            push(pop() ^ y);
    }
    r[0] = pop();
    r[1] = pop();
    r[2] = total;
    r[3] = tail - head;
}
