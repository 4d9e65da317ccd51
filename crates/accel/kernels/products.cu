// Products of matrices and a few vectors over Z_2^32, Z_2^64, F_(2^32-5) and F_(2^61-1).
//
// C that is CUDA too. `products.ptx` is what clang 19 makes of it for a device:
//
//     clang-19 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_52 -O3 -S
//         -Wno-unknown-cuda-version products.cu -o products.ptx
//
// (`PHINEUS_BLESS=1 cargo test -p phineus-accel --test ptx`), and the tests compile this same file
// for the processor, with the four names below as variables.
//
// One thread makes one row of one matrix times `K` vectors, over some of the columns; threads share
// nothing, so the order in which they run does not matter. Cost per element of the matrix: a load,
// `K` products. Neighbouring threads read neighbouring elements: matrices lie column by column.
//
// Exact, for at most 2^28 columns: sums are integers below 2^64 that are congruent to what they
// stand for, and what is written is reduced. Nothing branches on or is indexed by an element.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned __int128 u128;

#ifdef __CUDA__
#define DEVICE static __attribute__((device, always_inline)) inline
#define KERNEL __attribute__((global)) void
#define RESTRICT __restrict__
#define BLOCK_INDEX_X __nvvm_read_ptx_sreg_ctaid_x()
#define BLOCK_INDEX_Y __nvvm_read_ptx_sreg_ctaid_y()
#define BLOCK_SIZE __nvvm_read_ptx_sreg_ntid_x()
#define THREAD_INDEX __nvvm_read_ptx_sreg_tid_x()
#else
#define DEVICE static inline
#define KERNEL void
#define RESTRICT restrict
static _Thread_local u32 BLOCK_INDEX_X, BLOCK_INDEX_Y, BLOCK_SIZE, THREAD_INDEX;
#endif

// Z_2^32 and Z_2^64: words, which wrap around.

DEVICE u32 r32_mul_add(u32 sum, u32 a, u32 b) { return sum + a * b; }
DEVICE u32 r32_reduced(u32 sum) { return sum; }
DEVICE u32 r32_add(u32 a, u32 b) { return a + b; }

DEVICE u64 r64_mul_add(u64 sum, u64 a, u64 b) { return sum + a * b; }
DEVICE u64 r64_reduced(u64 sum) { return sum; }
DEVICE u64 r64_add(u64 a, u64 b) { return a + b; }

// F_(2^32-5): 2^32 is 5, so five times the upper word and the lower word are congruent to a number.
// A product becomes a number below 6 * 2^32 < 2^35, and at most 2^28 of them are added up.

#define F32_P 4294967291u

DEVICE u64 f32_fold(u64 x) { return (x & 0xFFFFFFFFull) + 5 * (x >> 32); }
DEVICE u64 f32_mul_add(u64 sum, u32 a, u32 b) { return sum + f32_fold((u64)a * b); }
DEVICE u32 f32_reduced(u64 sum) {
    // Below 6 * 2^32, then at most 2^32 + 24, which is below 2p.
    u64 x = f32_fold(f32_fold(sum));
    return (u32)(x - (F32_P & -(u64)(x >= F32_P)));
}
DEVICE u32 f32_add(u32 a, u32 b) {
    u64 x = (u64)a + b;
    return (u32)(x - (F32_P & -(u64)(x >= F32_P)));
}

// F_(2^61-1): 2^61 is 1, so the upper bits and the lower 61 are congruent to a number. A sum is
// below 2^61 + 8 after each product.

#define F61_P 2305843009213693951ull

DEVICE u64 f61_fold(u64 x) { return (x & F61_P) + (x >> 61); }
DEVICE u64 f61_mul_add(u64 sum, u64 a, u64 b) {
    u128 product = (u128)a * b;
    // Below 3 * 2^61 + 8.
    return f61_fold(sum + ((u64)product & F61_P) + (u64)(product >> 61));
}
DEVICE u64 f61_reduced(u64 sum) {
    u64 x = f61_fold(sum);
    return x - (F61_P & -(u64)(x >= F61_P));
}
DEVICE u64 f61_add(u64 a, u64 b) {
    u64 x = a + b;
    return x - (F61_P & -(u64)(x >= F61_P));
}

// `count` matrices of `rows` rows and `columns` columns, one after the other, times vectors
// `first..first + K` of the `width` that lie entry by entry. Row `r` of matrix `m` and vector `k`
// is number `(m * rows + r) * width + k` of the results. The blocks of one row of the grid make
// `part_columns` columns; those of row `y` write the `y`-th plane of results.
#define PRODUCTS(NAME, RING, ELEMENT, SUM, K)                                                      \
    KERNEL NAME(const ELEMENT *RESTRICT matrix, const ELEMENT *RESTRICT vectors,                   \
                ELEMENT *RESTRICT out, u32 rows, u32 columns, u32 count, u32 width, u32 first,     \
                u32 part_columns, u32 adds) {                                                      \
        u64 index = (u64)BLOCK_INDEX_X * BLOCK_SIZE + THREAD_INDEX;                                \
        u64 total = (u64)count * rows;                                                             \
        if (index >= total) return;                                                                \
        u64 which = index / rows;                                                                  \
        u32 from = BLOCK_INDEX_Y * part_columns;                                                   \
        u32 to = columns - from < part_columns ? columns : from + part_columns;                    \
        const ELEMENT *entry =                                                                     \
            matrix + which * rows * columns + (u64)from * rows + (index - which * rows);           \
        const ELEMENT *factor = vectors + (which * columns + from) * width + first;                \
        SUM sums[K];                                                                               \
        for (int k = 0; k < K; k++) sums[k] = 0;                                                   \
        for (u32 column = from; column < to; column++) {                                           \
            ELEMENT a = *entry;                                                                    \
            for (int k = 0; k < K; k++) sums[k] = RING##_mul_add(sums[k], a, factor[k]);           \
            entry += rows;                                                                         \
            factor += width;                                                                       \
        }                                                                                          \
        ELEMENT *results = out + (BLOCK_INDEX_Y * total + index) * width + first;                  \
        for (int k = 0; k < K; k++) {                                                              \
            ELEMENT result = RING##_reduced(sums[k]);                                              \
            results[k] = adds ? RING##_add(results[k], result) : result;                           \
        }                                                                                          \
    }

// The sum of `planes` planes of `len` elements goes to `out`, or is added to it.
#define PLANES(NAME, RING, ELEMENT)                                                                \
    KERNEL NAME(const ELEMENT *RESTRICT planes, ELEMENT *RESTRICT out, u64 len, u32 count,         \
                u32 adds) {                                                                        \
        u64 index = (u64)BLOCK_INDEX_X * BLOCK_SIZE + THREAD_INDEX;                                \
        if (index >= len) return;                                                                  \
        ELEMENT sum = adds ? out[index] : 0;                                                       \
        for (u32 plane = 0; plane < count; plane++)                                                \
            sum = RING##_add(sum, planes[plane * len + index]);                                    \
        out[index] = sum;                                                                          \
    }

#define RING(NAME, ELEMENT, SUM)                                                                   \
    PRODUCTS(NAME##_products_1, NAME, ELEMENT, SUM, 1)                                             \
    PRODUCTS(NAME##_products_2, NAME, ELEMENT, SUM, 2)                                             \
    PRODUCTS(NAME##_products_4, NAME, ELEMENT, SUM, 4)                                             \
    PLANES(NAME##_planes, NAME, ELEMENT)

#ifdef __cplusplus
extern "C" {
#endif
RING(r32, u32, u32)
RING(r64, u64, u64)
RING(f32, u32, u64)
RING(f61, u64, u64)
#ifdef __cplusplus
}
#endif
