/* Calls the entry for TVM FFI of a function that test_exporting.py exports for a GPU, as that library would. */
#include <stdint.h>
#include <stdio.h>

typedef struct {
  int32_t tag, padding;
  union {
    double number;
    void *address;
  };
} any;
typedef struct {
  void *data;
  int32_t device, number, rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
} tensor;

int __tvm_ffi_add(void *self, const any *arguments, int32_t count, any *result);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text) { printf("%s: %s\n", kind, text); }
void *TVMFFIEnvGetStream(int32_t device, int32_t number) {
  printf("stream of device %d number %d\n", device, number);
  return (void *)0x90;
}

int main(void) {
  int64_t shape = 64, stride = 1;
  tensor x = {(void *)0x1000, 2, 3, 1, 2, 32, 1, &shape, &stride, 0};
  any arguments[2] = {{.tag = 7, .address = &x}, {.tag = 3, .number = 2.5}}, result = {0};
  printf("call: %d\n", __tvm_ffi_add(NULL, arguments, 2, &result));
  shape = 13 * 32;
  printf("failing call: %d\n", __tvm_ffi_add(NULL, arguments, 2, &result));
  printf("one argument: %d\n", __tvm_ffi_add(NULL, arguments, 1, &result));
  x.device = 1;
  printf("on the CPU: %d\n", __tvm_ffi_add(NULL, arguments, 2, &result));
  arguments[0] = arguments[1];
  printf("no tensor: %d\n", __tvm_ffi_add(NULL, arguments, 2, &result));
  return 0;
}
