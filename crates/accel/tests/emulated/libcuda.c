// A libcuda for tests: the functions of the driver that we call, on the processor.
//
// Kernels are those of ../../kernels/products.cu, compiled for the processor from the same lines.
// So that mistakes show that a device would punish:  * what goes to a stream happens when somebody
// waits for it, not before: a buffer that is written or
//    read too early has the wrong content;
//  * device memory ends at a page that nobody may touch, and copies must lie within one allocation;
//  * threads of a launch run in one order and in the other by turns;
//  * EMULATED_FAULT=function:n makes the n-th call of a function fail, and all work after it.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "products.cu"

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NO_DEVICE = 100, NOT_FOUND = 500, LAUNCH_FAILED = 719 };
typedef int Result;

static int is_lost;
static int context_token;

static Result fault(const char *function) {
    static const char *name;
    static int count = -1;
    if (is_lost) return LAUNCH_FAILED;
    if (count == -1) {
        name = getenv("EMULATED_FAULT");
        const char *colon = name ? strchr(name, ':') : 0;
        count = colon ? atoi(colon + 1) : 0;
    }
    size_t len = strlen(function);
    if (count > 0 && strncmp(name, function, len) == 0 && name[len] == ':' && --count == 0) {
        is_lost = 1;
        return strstr(function, "Alloc") ? NO_MEMORY : LAUNCH_FAILED;
    }
    return OK;
}

#define MAY_FAIL                                                                                   \
    do {                                                                                           \
        Result answer = fault(__func__);                                                           \
        if (answer) return answer;                                                                 \
    } while (0)

// Memory of the device.

#define PAGE 4096
static struct Allocation {
    char *at;
    size_t bytes;
} allocations[256];

static int is_inside(const void *at, size_t bytes) {
    for (int i = 0; i < 256; i++) {
        struct Allocation *a = &allocations[i];
        if (a->at && (char *)at >= a->at && (char *)at + bytes <= a->at + a->bytes) return 1;
    }
    return 0;
}

static Result take(u64 *out, size_t bytes) {
    size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
    for (int i = 0; i < 256; i++) {
        if (allocations[i].at) continue;
        int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
        char *all = mmap(0, pages + PAGE, access, kind, -1, 0);
        if (all == MAP_FAILED) return NO_MEMORY;
        mprotect(all + pages, PAGE, PROT_NONE);
        // What was there before is not zero.
        memset(all, 0xA5, pages);
        allocations[i].at = all + pages - bytes;
        allocations[i].bytes = bytes;
        *out = (u64)(uintptr_t)allocations[i].at;
        return OK;
    }
    return NO_MEMORY;
}

static Result give_back(u64 at) {
    for (int i = 0; i < 256; i++) {
        struct Allocation *a = &allocations[i];
        if ((u64)(uintptr_t)a->at != at || !at) continue;
        for (size_t b = 0; b < a->bytes && !is_lost; b++) {
            if (!a->at[b]) continue;
            fprintf(stderr, "emulated device: memory given back that was not wiped\n");
            abort();
        }
        size_t pages = (a->bytes + PAGE - 1) / PAGE * PAGE;
        munmap(a->at + a->bytes - pages, pages + PAGE);
        a->at = 0;
        return OK;
    }
    return INVALID;
}

// Streams: queues of work.

enum Kind { COPY, FILL, LAUNCH };
struct Work {
    enum Kind kind;
    char *to;
    const char *from;
    size_t bytes;
    int function;
    u32 grid_x, grid_y, block;
    u64 arguments[10];
};
struct Stream {
    struct Work *work;
    size_t count, room;
};
struct Event {
    struct Stream *stream;
};

static struct Work *queue(struct Stream *stream) {
    if (stream->count == stream->room) {
        stream->room = stream->room ? 2 * stream->room : 16;
        stream->work = realloc(stream->work, stream->room * sizeof *stream->work);
    }
    struct Work *work = &stream->work[stream->count++];
    memset(work, 0, sizeof *work);
    return work;
}

#define FUNCTIONS(X) X(r32, u32) X(r64, u64) X(f32, u32) X(f61, u64)
static const char *const names[] = {
#define NAMES(RING, E)                                                                             \
    #RING "_products_1", #RING "_products_2", #RING "_products_4", #RING "_planes",
    FUNCTIONS(NAMES)
};
enum { NAME_COUNT = sizeof names / sizeof *names };

static void thread(int function, const u64 *a) {
#define POINTER(E, i) ((E *)(uintptr_t)a[i])
#define PRODUCT(E, NAME)                                                                           \
    NAME(POINTER(E, 0), POINTER(E, 1), POINTER(E, 2), (u32)a[3], (u32)a[4], (u32)a[5], (u32)a[6],  \
         (u32)a[7], (u32)a[8], (u32)a[9]);                                                         \
    return;
#define CASES(RING, E)                                                                             \
    if (!function--) { PRODUCT(E, RING##_products_1) }                                             \
    if (!function--) { PRODUCT(E, RING##_products_2) }                                             \
    if (!function--) { PRODUCT(E, RING##_products_4) }                                             \
    if (!function--) {                                                                             \
        RING##_planes(POINTER(E, 0), POINTER(E, 1), a[2], (u32)a[3], (u32)a[4]);                   \
        return;                                                                                    \
    }
    FUNCTIONS(CASES)
}

static void launch(const struct Work *work) {
    static int is_backwards;
    is_backwards = !is_backwards;
    u64 across = (u64)work->grid_x * work->block, all = across * work->grid_y;
    BLOCK_SIZE = work->block;
    for (u64 i = 0; i < all; i++) {
        u64 which = is_backwards ? all - 1 - i : i;
        BLOCK_INDEX_Y = (u32)(which / across);
        BLOCK_INDEX_X = (u32)(which % across / work->block);
        THREAD_INDEX = (u32)(which % across % work->block);
        thread(work->function, work->arguments);
    }
}

static void work_off(struct Stream *stream) {
    // What is under way is lost with the device.
    for (size_t i = 0; i < stream->count && !is_lost; i++) {
        struct Work *work = &stream->work[i];
        if (work->kind == COPY) memcpy(work->to, work->from, work->bytes);
        if (work->kind == FILL) memset(work->to, work->function, work->bytes);
        if (work->kind == LAUNCH) launch(work);
    }
    stream->count = 0;
}

// The driver's functions.

Result cuInit(unsigned flags) { return getenv("EMULATED_NONE") ? NO_DEVICE : OK; }
Result cuDriverGetVersion(int *version) { return *version = 12080, OK; }
Result cuDeviceGetCount(int *count) { return *count = 1, OK; }
Result cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal ? INVALID : OK; }
Result cuDeviceGetName(char *name, int len, int device) {
    return snprintf(name, len, "emulated device"), OK;
}
Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 16 ? 4 : attribute == 115 ? !getenv("EMULATED_NO_POOLS") : 1;
    return OK;
}
Result cuDevicePrimaryCtxRetain(void **context, int device) {
    return *context = &context_token, OK;
}
Result cuDevicePrimaryCtxRelease_v2(int device) { return OK; }
static _Thread_local void *current;
Result cuCtxGetCurrent(void **context) { return *context = current, OK; }
Result cuCtxSynchronize(void) { return is_lost ? LAUNCH_FAILED : OK; }
Result cuCtxSetCurrent(void *context) { return current = context, OK; }
Result cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    return *free_bytes = 900u << 20, *total = 1u << 30, OK;
}
Result cuGetErrorName(Result code, const char **name) {
    *name = code == NO_MEMORY       ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
                                    : "CUDA_ERROR_UNKNOWN";
    return OK;
}
Result cuGetErrorString(Result code, const char **text) { return cuGetErrorName(code, text); }

Result cuModuleLoadData(void **module, const char *ptx) {
    MAY_FAIL;
    if (!strstr(ptx, ".version") || !strstr(ptx, ".target")) return INVALID;
    return *module = (void *)ptx, OK;
}
Result cuModuleUnload(void *module) { return OK; }
Result cuModuleGetFunction(void **function, void *module, const char *name) {
    for (int i = 0; i < NAME_COUNT; i++)
        if (!strcmp(names[i], name)) return *function = (void *)(uintptr_t)(i + 1), OK;
    return NOT_FOUND;
}

Result cuStreamCreate(struct Stream **stream, unsigned flags) {
    return *stream = calloc(1, sizeof **stream), OK;
}
Result cuStreamDestroy_v2(struct Stream *stream) {
    work_off(stream);
    free(stream->work);
    free(stream);
    return OK;
}
Result cuStreamSynchronize(struct Stream *stream) {
    MAY_FAIL;
    work_off(stream);
    return OK;
}
Result cuStreamWaitEvent(struct Stream *stream, struct Event *event, unsigned flags) {
    if (event->stream && event->stream != stream) work_off(event->stream);
    return OK;
}
Result cuEventCreate(struct Event **event, unsigned flags) {
    return *event = calloc(1, sizeof **event), OK;
}
Result cuEventDestroy_v2(struct Event *event) { return free(event), OK; }
Result cuEventRecord(struct Event *event, struct Stream *stream) {
    return event->stream = stream, OK;
}
Result cuEventSynchronize(struct Event *event) {
    if (is_lost) return LAUNCH_FAILED;
    if (event->stream) work_off(event->stream);
    return OK;
}

Result cuMemAlloc_v2(u64 *at, size_t bytes) {
    MAY_FAIL;
    return take(at, bytes);
}
Result cuMemFree_v2(u64 at) { return give_back(at); }
Result cuMemAllocAsync(u64 *at, size_t bytes, struct Stream *stream) {
    MAY_FAIL;
    return take(at, bytes);
}
Result cuMemFreeAsync(u64 at, struct Stream *stream) {
    work_off(stream);
    return give_back(at);
}
Result cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    MAY_FAIL;
    *at = aligned_alloc(PAGE, bytes);
    if (!*at) return NO_MEMORY;
    memset(*at, 0x5A, bytes);
    return OK;
}
Result cuMemFreeHost(void *at) { return free(at), OK; }
Result cuMemsetD8Async(u64 at, unsigned char value, size_t bytes, struct Stream *stream) {
    if (is_lost) return LAUNCH_FAILED;
    if (!is_inside((void *)(uintptr_t)at, bytes)) return INVALID;
    struct Work *work = queue(stream);
    work->kind = FILL, work->to = (char *)(uintptr_t)at, work->bytes = bytes;
    work->function = value;
    return OK;
}
Result cuMemcpyHtoDAsync_v2(u64 to, const void *from, size_t bytes, struct Stream *stream) {
    MAY_FAIL;
    if (!is_inside((void *)(uintptr_t)to, bytes)) return INVALID;
    struct Work *work = queue(stream);
    work->kind = COPY, work->to = (char *)(uintptr_t)to, work->from = from, work->bytes = bytes;
    return OK;
}
Result cuMemcpyDtoHAsync_v2(void *to, u64 from, size_t bytes, struct Stream *stream) {
    MAY_FAIL;
    if (!is_inside((void *)(uintptr_t)from, bytes)) return INVALID;
    struct Work *work = queue(stream);
    work->kind = COPY, work->to = to, work->from = (char *)(uintptr_t)from, work->bytes = bytes;
    return OK;
}
Result cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                      struct Stream *stream, void **parameters, void **extra) {
    MAY_FAIL;
    if (grid_z != 1 || block_y != 1 || block_z != 1 || shared) return INVALID;
    if (!grid_x || !grid_y || grid_y > 65535) return INVALID;
    struct Work *work = queue(stream);
    work->kind = LAUNCH, work->function = (int)(uintptr_t)function - 1;
    work->grid_x = grid_x, work->grid_y = grid_y, work->block = block_x;
    // Arguments are copied at the call, as the driver does.
    int is_planes = work->function % 4 == 3;
    for (int i = 0; i < (is_planes ? 5 : 10); i++) {
        // Three words of 64 bits come first in both kinds of kernels.
        work->arguments[i] = i < 3 ? *(u64 *)parameters[i] : *(u32 *)parameters[i];
    }
    return OK;
}
