/* Functions of C's library that compare memory, as C: what a computation calls of them is executed
 * like its own code. They are compiled before the program, so that its macros mean nothing here, and
 * without lines, so that a mistake in them is one of the call. */
#define PHINEUS_LIBRARY __attribute__((nodebug))
PHINEUS_LIBRARY int phineus_c_memcmp(const void *a, const void *b, __SIZE_TYPE__ n)
{
    const unsigned char *p = a, *q = b;
    int sign = 0;
    while (n-- > 0)
        sign = p[n] == q[n] ? sign : p[n] - q[n];
    return sign;
}
PHINEUS_LIBRARY int phineus_c_bcmp(const void *a, const void *b, __SIZE_TYPE__ n)
{
    const unsigned char *p = a, *q = b;
    unsigned char differs = 0;
    for (__SIZE_TYPE__ i = 0; i < n; i++)
        differs |= p[i] ^ q[i];
    return differs;
}
PHINEUS_LIBRARY int phineus_c_strncmp(const char *a, const char *b, __SIZE_TYPE__ n)
{
    for (__SIZE_TYPE__ i = 0; i < n; i++) {
        unsigned char p = a[i], q = b[i];
        if (p != q)
            return p - q;
        if (p == 0)
            return 0;
    }
    return 0;
}
PHINEUS_LIBRARY __SIZE_TYPE__ phineus_c_strnlen(const char *a, __SIZE_TYPE__ n)
{
    __SIZE_TYPE__ i = 0;
    while (i < n && a[i] != 0)
        i++;
    return i;
}
