/* Calls the functions that test_exporting.py exports, with what that test wrote to files, and prints what it sees. */
#include "quotient.h"
#include "scale.h"
#include "sums.h"
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 300, COLUMNS = 400, SIZE = ROWS * COLUMNS };
static float x[SIZE], y[SIZE], expected[SIZE];

static void read_file(const char *name, float *into) {
  FILE *file = fopen(name, "rb");
  if (file == NULL || fread(into, sizeof(float), SIZE, file) != SIZE) exit(9);
  fclose(file);
}

typedef struct {
  triptych_task_t task;
  void *argument;
  int64_t index;
} share;

static void *run_share(void *given) {
  share *it = (share *)given;
  it->task(it->argument, it->index);
  return NULL;
}

/* A pool of the host: a thread for each share. */
static void host_pool(void *context, int64_t count, triptych_task_t task, void *argument) {
  pthread_t threads[64];
  share shares[64];
  *(int64_t *)context += count;
  for (int64_t i = 0; i < count; ++i) {
    shares[i].task = task;
    shares[i].argument = argument;
    shares[i].index = i;
    pthread_create(&threads[i], NULL, run_share, &shares[i]);
  }
  for (int64_t i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

static scale_Kernel_Module_t module;
static scale_Tensor_x_t tx = {x, {ROWS, COLUMNS}, {COLUMNS}};
static scale_Tensor_y_t ty = {y, {ROWS, COLUMNS}, {COLUMNS}};

static int scaled_alike(void) {
  memset(y, 0, sizeof y);
  int32_t code = cute_dsl_scale_wrapper(&module, &tx, &ty, 1.5f, UINT64_MAX, NULL);
  return code == TRIPTYCH_OK && memcmp(y, expected, sizeof y) == 0;
}

static void *scale_often(void *nothing) {
  (void)nothing;
  float *own = (float *)malloc(sizeof y);
  scale_Tensor_y_t mine = {own, {ROWS, COLUMNS}, {COLUMNS}};
  int same = 1;
  for (int i = 0; i < 20; ++i) {
    same &= cute_dsl_scale_wrapper(&module, &tx, &mine, 1.5f, 1, NULL) == TRIPTYCH_OK;
    same &= memcmp(own, expected, sizeof y) == 0;
  }
  free(own);
  return same ? &module : NULL;
}

static void refuse(const char *what, scale_Tensor_x_t *tensor) {
  int32_t code = cute_dsl_scale_wrapper(&module, tensor, &ty, 1.5f, 3, NULL);
  printf("%s: %d %s\n", what, code, scale_error_text());
}

static void settings(void) {
  int64_t shares = 0;
  printf("alone: %d\n", (scale_set_threads(1), scaled_alike()));
  printf("four threads: %d\n", (scale_set_threads(4), scaled_alike()));
  scale_set_parallel_for(host_pool, &shares);
  printf("host pool: %d", scaled_alike());
  printf(" %d shares\n", (int)shares);
  scale_set_parallel_for(NULL, NULL);
  pthread_t callers[3];
  for (int i = 0; i < 3; ++i) pthread_create(&callers[i], NULL, scale_often, NULL);
  int same = 1;
  for (int i = 0; i < 3; ++i) {
    void *answer = NULL;
    pthread_join(callers[i], &answer);
    same &= answer != NULL;
  }
  printf("three callers: %d\n", same);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) _exit(scaled_alike() ? 7 : 8);
  int status = 0;
  waitpid(child, &status, 0);
  printf("after a fork: %d\n", WEXITSTATUS(status));
}

static void mistakes(void) {
  scale_Tensor_x_t wrong = tx;
  wrong.dynamic_shapes[1] = 396;
  wrong.dynamic_strides[0] = 396;
  refuse("shape", &wrong);
  wrong.dynamic_shapes[1] = 398;
  refuse("divisibility", &wrong);
  wrong = tx;
  wrong.dynamic_strides[0] = 401;
  refuse("stride", &wrong);
  wrong = tx;
  wrong.data = (char *)x + 1;
  printf("alignment: %d\n", cute_dsl_scale_wrapper(&module, &wrong, &ty, 1.5f, 3, NULL));
  wrong.data = NULL;
  refuse("memory", &wrong);
  refuse("structure", NULL);
}

static void versions(void) {
  quotient_Kernel_Module_t divide;
  int32_t result = 0;
  printf("version: %u %u\n", triptych_abi_version(), quotient_abi_version());
  int32_t code = quotient_triptych_load(&divide, TRIPTYCH_ABI_VERSION + 1, 0);
  printf("other version: %d %s\n", code, quotient_error_text());
  code = quotient_triptych_load(&divide, TRIPTYCH_ABI_VERSION, 7);
  printf("other header: %d %s\n", code, quotient_error_text());
  code = cute_dsl_quotient_wrapper(&divide, 7, 2, &result);
  printf("not loaded: %d %s\n", code, quotient_error_text());
  printf("loaded: %d\n", quotient_Kernel_Module_Load(&divide));
  code = cute_dsl_quotient_wrapper(&divide, -7, 2, &result);
  printf("quotient: %d %d\n", code, result);
  code = cute_dsl_quotient_wrapper(&divide, 7, 0, &result);
  printf("by zero: %d %s\n", code, quotient_error_text());
  printf("unloaded: %d\n", quotient_Kernel_Module_Unload(&divide));
  printf("unloaded again: %d\n", quotient_Kernel_Module_Unload(&divide));
}

static void kernels(void) {
  sums_Kernel_Module_t sums;
  int32_t values[256], totals[4] = {0, 0, 0, 0};
  for (int i = 0; i < 256; ++i) values[i] = i;
  sums_Tensor_values_t tv = {values, {256}};
  sums_Tensor_totals_t tt = {totals, {4}};
  sums_Kernel_Module_Load(&sums);
  int32_t code = cute_dsl_sums_wrapper(&sums, &tv, &tt, 1000);
  printf("sums: %d %d %d %d %d\n", code, totals[0], totals[1], totals[2], totals[3]);
  code = cute_dsl_sums_wrapper(&sums, &tv, &tt, 200);
  printf("in a kernel: %d %s\n", code, sums_error_text());
  sums_Kernel_Module_Unload(&sums);
}

/* Modules that are not there, many that come and go, and a process whose keys of threads others have. */
static void modules(void) {
  static pthread_key_t others[PTHREAD_KEYS_MAX];
  scale_Kernel_Module_t fresh;
  memset(&fresh, 0, sizeof fresh);
  printf("no module: %d %s\n", cute_dsl_scale_wrapper(NULL, &tx, &ty, 1.5f, 3, NULL), scale_error_text());
  printf("fresh module: %d\n", cute_dsl_scale_wrapper(&fresh, &tx, &ty, 1.5f, 3, NULL));
  printf("nowhere: %d %d\n", scale_Kernel_Module_Load(NULL), scale_Kernel_Module_Unload(NULL));
  int same = 1, count = 0;
  scale_set_threads(2);
  for (int i = 0; i < 2000; ++i) {
    same &= scale_Kernel_Module_Load(&module) == TRIPTYCH_OK;
    if (i % 100 == 0) same &= scaled_alike();
    same &= scale_Kernel_Module_Unload(&module) == TRIPTYCH_OK;
  }
  printf("2000 loads: %d\n", same);
  while (count < PTHREAD_KEYS_MAX && pthread_key_create(&others[count], NULL) == 0) ++count;
  for (int i = 0; i < 2; ++i) pthread_key_delete(others[--count]);
  printf("two keys: %d %s\n", scale_Kernel_Module_Load(&module), scale_error_text());
  pthread_key_delete(others[--count]);
  printf("three keys: %d\n", scale_Kernel_Module_Load(&module));
  printf("same: %d\n", scaled_alike());
}

int main(void) {
  read_file("x.bin", x);
  read_file("expected.bin", expected);
  printf("load: %d\n", scale_Kernel_Module_Load(&module));
  printf("same: %d\n", scaled_alike());
  settings();
  mistakes();
  versions();
  kernels();
  printf("unload: %d\n", scale_Kernel_Module_Unload(&module));
  printf("unloaded: %d\n", cute_dsl_scale_wrapper(&module, &tx, &ty, 1.5f, 3, NULL));
  modules();
  return 0;
}
