/* Loads and calls a function that test_exporting.py exports for a GPU. */
#include "add.h"
#include <stdio.h>

int main(void) {
  add_Kernel_Module_t module;
  int32_t code = add_Kernel_Module_Load(&module);
  if (code != TRIPTYCH_OK) {
    printf("load: %d %s\n", code, add_error_text());
    return 0;
  }
  add_Tensor_x_t x = {(void *)0x1000, {64}};
  printf("call: %d\n", cute_dsl_add_wrapper(&module, &x, 2.5f, (void *)0x70));
  x.dynamic_shapes[0] = 13 * 32;
  code = cute_dsl_add_wrapper(&module, &x, 2.5f, (void *)0x70);
  printf("failing call: %d %s\n", code, add_error_text());
  x.data = NULL;
  code = cute_dsl_add_wrapper(&module, &x, 2.5f, NULL);
  printf("no memory: %d %s\n", code, add_error_text());
  printf("unload: %d\n", add_Kernel_Module_Unload(&module));
  return 0;
}
