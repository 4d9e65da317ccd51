// Floating-point numbers that are opened, and a loop that ends when one is small.
#include <phineus.h>
PH_MAIN PH_OUT(a) double f(PH_IN(a) double x, PH_IN(b) float y)
{
    double square = x * x + 1.0, root = square;
    for (int i = 0; i < 60; i++) {
        double next = 0.5 * (root + square / root);
        double step = root - next;
        root = next;
        if (ph_reveal(step * step < 1e-12))
            break;
    }
    return root + ph_reveal(y) * 2.0;
}
