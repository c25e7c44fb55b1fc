/* A driver without a GPU: it keeps a log of what it is asked for, checks what the real one would check, runs nothing. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NO_DEVICE = 100, NO_BINARY = 209, NOT_FOUND = 500, TOO_MANY_RESOURCES = 701 };

typedef struct { char name[64]; char arguments[64]; int dynamic_shared; } Kernel;
typedef struct { uint32_t id; char padding[4]; uint32_t value[16]; } Attribute;
typedef struct {
    uint32_t grid[3], block[3], shared;
    void *stream;
    Attribute *attributes;
    uint32_t attribute_count;
} Config;

static char written[1 << 16], failing[64];
static int failure, version = 13000, module_number;
static void *current;
static Kernel kernels[16];
static int kernel_count;

#define LOG(...) snprintf(written + strlen(written), sizeof written - strlen(written), __VA_ARGS__)
#define MAY_FAIL(name) do { if (!strcmp(failing, name)) return failure; } while (0)

/* for tests ------------------------------------------------------------------------------------------------------- */
const char *fake_log(void) { return written; }
void fake_forget(void) { written[0] = failing[0] = 0; current = 0; kernel_count = 0; version = 13000; }
void fake_fail(const char *function, int status) { strcpy(failing, function); failure = status; }
void fake_version(int number) { version = number; }
/* Kinds of a kernel's arguments: p pointer, l and i integers of 64 and 32 bits, b of 8 bits, f and d floats, m a map. */
void fake_kernel(const char *name, const char *arguments) {
    strcpy(kernels[kernel_count].name, name);
    strcpy(kernels[kernel_count++].arguments, arguments);
}

/* the driver ------------------------------------------------------------------------------------------------------ */
int cuInit(unsigned flags) { MAY_FAIL("cuInit"); LOG("init\n"); return flags ? INVALID_VALUE : SUCCESS; }
int cuDriverGetVersion(int *number) { *number = version; return SUCCESS; }
int cuDeviceGet(int *device, int number) { *device = 70 + number; return SUCCESS; }
int cuDevicePrimaryCtxRetain(void **context, int device) {
    MAY_FAIL("cuDevicePrimaryCtxRetain");
    LOG("retain %d\n", device - 70);
    *context = (void *)(intptr_t)(0x1000 + device);
    return SUCCESS;
}
int cuCtxGetCurrent(void **context) { *context = current; return SUCCESS; }
int cuCtxSetCurrent(void *context) { LOG("enter %d\n", (int)(intptr_t)context - 0x1000 - 70); current = context; return SUCCESS; }
int cuCtxGetDevice(int *device) { *device = (int)(intptr_t)current - 0x1000; return SUCCESS; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    if (attribute != 97 || device < 70) return INVALID_VALUE;
    *value = 166912;
    return SUCCESS;
}
int cuStreamSynchronize(void *stream) { LOG("wait for %#llx\n", (unsigned long long)(uintptr_t)stream); return SUCCESS; }
int cuModuleLoadData(void **module, const void *image) {
    MAY_FAIL("cuModuleLoadData");
    LOG("load %s\n", memcmp(image, "\177ELF", 4) ? "something else" : "a cubin");
    *module = (void *)(intptr_t)++module_number;
    return SUCCESS;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    for (int i = 0; module && i < kernel_count; i++)
        if (!strcmp(kernels[i].name, name)) { *function = &kernels[i]; return SUCCESS; }
    return NOT_FOUND;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
    *value = attribute == 1 && function ? 512 : -1;
    return SUCCESS;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
    if (attribute != 8) return INVALID_VALUE;
    ((Kernel *)function)->dynamic_shared = value;
    LOG("allow %s %d\n", ((Kernel *)function)->name, value);
    return SUCCESS;
}
static void log_arguments(const char *kinds, void **packed) {
    for (int i = 0; kinds[i]; i++) {
        void *at = packed[i];
        switch (kinds[i]) {
        case 'p': LOG(" %#llx", (unsigned long long)*(uint64_t *)at); break;
        case 'l': LOG(" %lld", (long long)*(int64_t *)at); break;
        case 'i': LOG(" %d", *(int32_t *)at); break;
        case 'b': LOG(" %d", *(uint8_t *)at); break;
        case 'f': LOG(" %g", *(float *)at); break;
        case 'd': LOG(" %g", *(double *)at); break;
        case 'm': LOG(" map %#llx", (unsigned long long)((uint64_t *)at)[1]); break;
        }
    }
}
int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *base, const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion,
                           int fill) {
    MAY_FAIL("cuTensorMapEncodeTiled");
    if ((uintptr_t)map % 64 || interleave || fill || promotion != 2) return INVALID_VALUE;
    LOG("map of type %d at %#llx:", type, (unsigned long long)(uintptr_t)base);
    for (uint32_t i = 0; i < rank; i++)
        LOG(" %llu of %llu, step %u, %llu bytes apart;", (unsigned long long)box[i], (unsigned long long)dims[i], steps[i],
            i ? (unsigned long long)strides[i - 1] : 0ull);
    LOG(" swizzle %d\n", swizzle);
    memset(map, 255, 128);
    return SUCCESS;
}
static unsigned long long handle_of(const uint32_t *value) { return value[0] | (unsigned long long)value[1] << 32; }
int cuLaunchKernelEx(const Config *config, void *function, void **packed, void **extra) {
    Kernel *kernel = function;
    MAY_FAIL("cuLaunchKernelEx");
    if (extra || !config->grid[0] || !config->grid[1] || !config->grid[2]) return INVALID_VALUE;
    if ((int)config->shared > kernel->dynamic_shared) return TOO_MANY_RESOURCES;
    LOG("launch %s grid %u %u %u block %u %u %u", kernel->name, config->grid[0], config->grid[1], config->grid[2],
        config->block[0], config->block[1], config->block[2]);
    LOG(" shared %u stream %#llx", config->shared, (unsigned long long)(uintptr_t)config->stream);
    for (uint32_t i = 0; i < config->attribute_count; i++) {
        const uint32_t *value = config->attributes[i].value;
        switch (config->attributes[i].id) {
        case 2: LOG(" cooperative %u", value[0]); break;
        case 4: LOG(" cluster %u %u %u", value[0], value[1], value[2]); break;
        case 6: LOG(" overlapping %u", value[0]); break;
        case 7: LOG(" programmatic event %#llx flags %u trigger %u", handle_of(value), value[2], value[3]); break;
        case 12: LOG(" completion event %#llx flags %u", handle_of(value), value[2]); break;
        default: return INVALID_VALUE;
        }
    }
    LOG(" with");
    log_arguments(kernel->arguments, packed);
    LOG("\n");
    return SUCCESS;
}
int cuGetErrorName(int status, const char **name) {
    *name = status == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : status == NO_BINARY ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : status == INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : status == NOT_FOUND ? "CUDA_ERROR_NOT_FOUND"
          : status == TOO_MANY_RESOURCES ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" : 0;
    return *name ? SUCCESS : INVALID_VALUE;
}
int cuGetErrorString(int status, const char **text) {
    *text = status == NO_BINARY ? "no kernel image is available" : status == INVALID_VALUE ? "invalid argument" : 0;
    return *text ? SUCCESS : INVALID_VALUE;
}
