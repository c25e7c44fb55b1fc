// The kernels of this folder in OpenCL C, for the same blocks of the same threads.
// `number` is the type of indices: `int` as in our kernels, or `size_t`, which cannot wrap around.

kernel void vector_add(global const float *a, global const float *b, global float *c, int n) {
    number i = get_group_id(0) * 256 + get_local_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}

kernel void saxpy(float factor, global const float *x, global float *y, int n) {
    number i = get_group_id(0) * 256 + get_local_id(0);
    if (i < n)
        y[i] = factor * x[i] + y[i];
}

kernel void block_reduction(global const float *x, global float *sums) {
    local float partial[256];
    number thread = get_local_id(0), block = get_group_id(0);
    float total = 0;
    for (number i = 0; i < 16; i++)
        total += x[block * 4096 + i * 256 + thread];
    partial[thread] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (number half_way = 128; half_way > 0; half_way /= 2) {
        if (thread < half_way)
            partial[thread] += partial[thread + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (thread == 0)
        sums[block] = partial[0];
}

// Sub-groups of 16: those of 32 take three times as long.
__attribute__((intel_reqd_sub_group_size(16)))
kernel void shuffle_reduction(global const float *x, global float *sums) {
    local float partial[16];
    number thread = get_local_id(0), block = get_group_id(0);
    float total = 0;
    for (number i = 0; i < 16; i++)
        total += x[block * 4096 + i * 256 + thread];
    for (number offset = 1; offset < 16; offset *= 2)
        total += sub_group_shuffle_xor(total, (uint)offset);
    if (get_sub_group_local_id() == 0)
        partial[get_sub_group_id()] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread == 0) {
        total = 0;
        for (number i = 0; i < 16; i++)
            total += partial[i];
        sums[block] = total;
    }
}

kernel void softmax(global const float *x, global float *y, int columns) {
    local float partial[256];
    number thread = get_local_id(0), row = get_group_id(0);
    float largest = -3.0e38f;
    for (number i = thread; i < columns; i += 256)
        largest = fmax(largest, x[row * columns + i]);
    partial[thread] = largest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (number half_way = 128; half_way > 0; half_way /= 2) {
        if (thread < half_way)
            partial[thread] = fmax(partial[thread], partial[thread + half_way]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    largest = partial[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    float total = 0;
    for (number i = thread; i < columns; i += 256) {
        float power_of_e = exp(x[row * columns + i] - largest);
        y[row * columns + i] = power_of_e;
        total += power_of_e;
    }
    partial[thread] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (number half_way = 128; half_way > 0; half_way /= 2) {
        if (thread < half_way)
            partial[thread] += partial[thread + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float scale = 1.0f / partial[0];
    for (number i = thread; i < columns; i += 256)
        y[row * columns + i] *= scale;
}

kernel void rms_norm(global const float *x, global const float *weight, global float *y, int columns) {
    local float partial[256];
    number thread = get_local_id(0), row = get_group_id(0);
    float total = 0;
    for (number i = thread; i < columns; i += 256)
        total += x[row * columns + i] * x[row * columns + i];
    partial[thread] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (number half_way = 128; half_way > 0; half_way /= 2) {
        if (thread < half_way)
            partial[thread] += partial[thread + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float scale = 1.0f / sqrt(partial[0] / columns + 1e-5f);
    for (number i = thread; i < columns; i += 256)
        y[row * columns + i] = x[row * columns + i] * scale * weight[i];
}

__attribute__((reqd_work_group_size(32, 32, 1)))
kernel void tiled_gemm(global const float *a, global const float *b, global float *c, int n) {
    local float tile_a[32][32], tile_b[32][32];
    number tx = get_local_id(0), ty = get_local_id(1);
    number row = get_group_id(1) * 32 + ty, column = get_group_id(0) * 32 + tx;
    float total = 0;
    for (number start = 0; start < n; start += 32) {
        tile_a[ty][tx] = a[row * n + start + tx];
        tile_b[ty][tx] = b[(start + ty) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (number k = 0; k < 32; k++)
            total += tile_a[ty][k] * tile_b[k][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = total;
}

// LEFT(row, column) is the place in the tile of the left matrix.
#define REGISTER_GEMM(NAME, WIDTH, HEIGHT, ROWS, COLUMNS, DEPTH, LEFT)                                                \
__attribute__((reqd_work_group_size(WIDTH, HEIGHT, 1)))                                                               \
kernel void NAME(global const float *a, global const float *b, global float *c, int n) {                              \
    local float left[HEIGHT * ROWS * DEPTH], right[DEPTH][WIDTH * COLUMNS];                                           \
    number tx = get_local_id(0), ty = get_local_id(1), thread = ty * WIDTH + tx;                                      \
    number first_row = get_group_id(1) * (HEIGHT * ROWS), first_column = get_group_id(0) * (WIDTH * COLUMNS);         \
    float totals[ROWS][COLUMNS] = {{0}};                                                                              \
    for (number start = 0; start < n; start += DEPTH) {                                                               \
        for (number part = 0; part < ROWS * DEPTH / WIDTH; part++) {                                                  \
            number place = thread + WIDTH * HEIGHT * part;                                                            \
            left[LEFT(place / DEPTH, place % DEPTH)] = a[(first_row + place / DEPTH) * n + start + place % DEPTH];    \
        }                                                                                                             \
        for (number part = 0; part < COLUMNS * DEPTH / HEIGHT; part++) {                                              \
            number place = thread + WIDTH * HEIGHT * part;                                                            \
            number row = place / (WIDTH * COLUMNS), column = place % (WIDTH * COLUMNS);                               \
            right[row][column] = b[(start + row) * n + first_column + column];                                        \
        }                                                                                                             \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                 \
        for (number k = 0; k < DEPTH; k++)                                                                            \
            for (number i = 0; i < ROWS; i++)                                                                         \
                for (number j = 0; j < COLUMNS; j++)                                                                  \
                    totals[i][j] += left[LEFT(ty * ROWS + i, k)] * right[k][tx + WIDTH * j];                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                 \
    }                                                                                                                 \
    for (number i = 0; i < ROWS; i++)                                                                                 \
        for (number j = 0; j < COLUMNS; j++)                                                                          \
            c[(first_row + ty * ROWS + i) * n + first_column + tx + WIDTH * j] = totals[i][j];                        \
}

#define ROWS_OF_16(row, column) ((row) * 16 + (column))
#define ROWS_OF_32(row, column) ((row) * 32 + (column))
#define COLUMNS_OF_64(row, column) ((row) + (column) * 64)

REGISTER_GEMM(register_gemm, 16, 16, 4, 4, 16, ROWS_OF_16)
REGISTER_GEMM(register_gemm_transposed, 16, 16, 4, 4, 16, COLUMNS_OF_64)
REGISTER_GEMM(register_gemm_wide, 32, 16, 4, 2, 32, ROWS_OF_32)
