/* What stands for NVIDIA's driver where there is none: it says what it is asked to do. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  uint32_t grid[3], block[3], shared;
  void *stream, *attributes;
  uint32_t attribute_count;
} config;

static char context, loaded, kernel;

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuCtxGetCurrent(void **current) { return *current = NULL, 0; }
int cuDeviceGet(int *device, int number) { return *device = number, 0; }
int cuDevicePrimaryCtxRetain(void **made, int device) { return *made = &context, device; }
int cuCtxSetCurrent(void *made) { return made == &context ? 0 : 201; }
int cuModuleLoadData(void **module, const void *image) {
  return *module = &loaded, memcmp(image, "\177ELF", 4) == 0 ? 0 : 200;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  printf("kernel %s\n", name);
  return *function = &kernel, module == &loaded ? 0 : 400;
}
int cuModuleUnload(void *module) { return printf("unloaded\n"), module == &loaded ? 0 : 400; }
int cuLaunchKernelEx(const config *given, void *function, void **arguments, void **extra) {
  printf("launch %u x %u x %u of %u, stream %p, first argument %p\n", given->grid[0], given->grid[1], given->grid[2],
         given->block[0], given->stream, *(void **)arguments[0]);
  return function == &kernel && extra == NULL ? (given->grid[0] == 13 ? 719 : 0) : 1;
}
