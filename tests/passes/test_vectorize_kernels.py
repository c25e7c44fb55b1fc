"""`vectorize-kernels`: a kernel becomes a function of blocks, as loops over warps or as warps that wait."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.targets.cpu.blocks.vectorize_kernels import vectorize_kernels

ARGUMENTS = "%p: !llvm.ptr<1>, %n: i32"
BLOCK = "attributes {known_block_size = array<i32: 128, 1, 1>}"
THREAD = "%tx = gpu.thread_id x\n%t = arith.index_cast %tx : index to i32\n"
ADDRESS = "%a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
DOUBLE = (
    "%v = llvm.load %a : !llvm.ptr<1> -> f32\n%w = arith.addf %v, %v : f32\nllvm.store %w, %a : f32, !llvm.ptr<1>\n"
)


def run(body: str, expected: str) -> None:
    checked(kernel(body, ARGUMENTS, BLOCK), vectorize_kernels, expected)


def test_a_kernel_is_a_function_of_blocks() -> None:
    run(
        THREAD + ADDRESS + DOUBLE,
        """
        # CHECK-NOT: gpu.module
        # CHECK: func.func private @triptych.poll()
        # CHECK: func.func private @triptych.suspend()
        # CHECK: func.func private @triptych.launch() -> !llvm.ptr
        # CHECK: func.func private @k.blocks(%arg0: !llvm.ptr, %arg1: i32, %arg2: i32
        # CHECK: %arg8: i32, %arg9: i64, %arg10: i64)
        # CHECK: arith.constant 4 : i32
        # CHECK: scf.for %arg11 = %arg9 to %arg10 step
        # CHECK: scf.for %arg12 = %c0_i32 to %c4_i32 step
        # CHECK: arith.constant 32 : i32
        # CHECK-NEXT: arith.muli %arg12, %c32_i32
        # CHECK: llvm.load {{.*}} -> vector<32xf32>
        # CHECK-NEXT: arith.addf {{.*}} : vector<32xf32>
        # CHECK-NEXT: llvm.store {{.*}} : vector<32xf32>
        # CHECK-NOT: gpu.thread_id
        """,
    )


@pytest.mark.parametrize("lanes", [16, 64])
def test_vectors_have_the_lanes_of_the_machine_that_the_module_names(lanes: int) -> None:
    vote = '%all = arith.constant -1 : MASK\n%b = "simt.vote"(%all, %q) {kind = "ballot"} : (MASK, i1) -> MASK\n'
    shuffle = (
        "%one = arith.constant 1 : i32\n"
        f"%last = arith.constant {lanes - 1} : i32\n"
        '%s = "simt.shuffle"(%all, %w, %one, %last) {kind = "bfly"} : (MASK, f32, i32, i32) -> f32\n'
        "llvm.store %s, %a : f32, !llvm.ptr<1>\n"
    )
    body = THREAD + ADDRESS + DOUBLE + "%q = arith.cmpi slt, %t, %n : i32\n" + vote + shuffle
    text = kernel(body.replace("MASK", "i64" if lanes > 32 else "i32"), ARGUMENTS, BLOCK)
    said = f"gpu.module @kernels attributes {{triptych.device = {{lanes = {lanes} : i32, threads = 1024 : i32}}}}"
    assert "gpu.module @kernels" in text
    checked(
        text.replace("gpu.module @kernels", said),
        vectorize_kernels,
        f"""
        # CHECK: scf.for {{{{.*}}}} to %c{128 // lanes}_i32 step
        # CHECK: llvm.load {{{{.*}}}} -> vector<{lanes}xf32>
        # CHECK: vector.bitcast {{{{.*}}}} : vector<{lanes}xi1> to vector<1xi{lanes}>
        # CHECK: vector.shuffle {{{{.*}}}} [1, 0, 3, 2, {{{{.*}}}} : vector<{lanes}xf32>
        # CHECK-NOT: vector<32x
        """,
    )


def test_a_barrier_cuts_the_loop_over_warps() -> None:
    hint = "llvm.loop_annotation"
    run(THREAD + ADDRESS + DOUBLE, f"# CHECK: {hint} =\n# CHECK-NOT: {hint} =")
    run(
        THREAD + ADDRESS + DOUBLE + "gpu.barrier\n" + "llvm.store %w, %a : f32, !llvm.ptr<1>\n",
        f"# CHECK-COUNT-2: {hint} =\n# CHECK-NOT: {hint} =\n# CHECK-NOT: triptych.coroutine",
    )


def test_a_barrier_that_some_threads_come_to_needs_coroutines() -> None:
    run(
        THREAD + "%q = arith.cmpi slt, %t, %n : i32\nscf.if %q { gpu.barrier }\n",
        "# CHECK: triptych.coroutine\n# CHECK: call @triptych.suspend",
    )


def array(count: int, kind: str = "f32", more: str = "") -> str:
    return f"""
    %count = arith.constant {count} : i32
    %array = llvm.alloca %count x {kind} : (i32) -> !llvm.ptr
    {more}
    %e = llvm.getelementptr %array[%n] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %v = llvm.load %a : !llvm.ptr<1> -> f32
    llvm.store %v, %e : f32, !llvm.ptr
    %w = llvm.load %e : !llvm.ptr -> f32
    llvm.store %w, %a : f32, !llvm.ptr<1>
    """


@pytest.mark.parametrize(("count", "width"), [(11, 32), (12, 16), (40, 16)])
def test_threads_that_keep_much_are_half_a_warp(count: int, width: int) -> None:
    other = 48 - width
    run(THREAD + ADDRESS + array(count), f"# CHECK: vector<{width}xf32>\n# CHECK-NOT: vector<{other}xf32>")


def test_arrays_by_lane_do_not_count() -> None:
    as_number = "%b = llvm.ptrtoint %array : !llvm.ptr to i64"
    run(THREAD + ADDRESS + array(40, more=as_number), "# CHECK: vector<32xf32>\n# CHECK-NOT: vector<16xf32>")


def test_elements_of_words_are_indexed_by_their_own_size() -> None:
    bytes_used = "%b = llvm.load %array : !llvm.ptr -> i8"
    run(THREAD + ADDRESS + array(4, more=bytes_used), "# CHECK: arith.muli {{.*}} : i64\n# CHECK: vector<32xi8>")


def test_operations_of_a_warp_need_a_whole_one() -> None:
    vote = '%q = arith.cmpi slt, %t, %n : i32\n%any = "simt.vote"(%n, %q) {kind = "any"} : (i32, i1) -> i1\n'
    run(THREAD + ADDRESS + vote + array(40), "# CHECK: vector<32x\n# CHECK-NOT: vector<16xf32>")


def test_programs_without_kernels() -> None:
    checked("func.func @f() { return }", vectorize_kernels, "# CHECK: func.func @f\n# CHECK-NOT: triptych.poll")


def test_an_element_at_a_place_that_the_run_knows() -> None:
    """`vector.insert` and `vector.extract` at a run-time place: a choice for every element."""
    vectors = (
        "%e = arith.index_cast %t : i32 to index\n"
        "%v = llvm.load %p : !llvm.ptr<1> -> vector<2xf32>\n"
        "%x = arith.sitofp %t : i32 to f32\n"
        "%w = vector.insert %x, %v[%e] : f32 into vector<2xf32>\n"
        "%r = vector.extract %w[%e] : f32 from vector<2xf32>\n"
    )
    run(
        THREAD + vectors + ADDRESS + "llvm.store %r, %a : f32, !llvm.ptr<1>\n",
        """
        # CHECK: arith.sitofp {{.*}} : vector<32xi32> to vector<32xf32>
        # CHECK: arith.constant dense<0> : vector<32xindex>
        # CHECK-NEXT: arith.cmpi eq, {{.*}} : vector<32xindex>
        # CHECK-NEXT: arith.select {{.*}} : vector<32xi1>, vector<32xf32>
        # CHECK-NEXT: arith.constant dense<1> : vector<32xindex>
        # CHECK-NEXT: arith.cmpi eq, {{.*}} : vector<32xindex>
        # CHECK-NEXT: arith.select {{.*}} : vector<32xi1>, vector<32xf32>
        # CHECK-NEXT: arith.constant dense<1> : vector<32xindex>
        # CHECK-NEXT: arith.cmpi eq, {{.*}} : vector<32xindex>
        # CHECK-NEXT: arith.select {{.*}} : vector<32xi1>, vector<32xf32>
        # CHECK-NEXT: llvm.getelementptr
        """,
    )


@pytest.mark.parametrize(("first", "second"), [("%m", "%u"), ("%u", "%m"), ("%m", "%k"), ("%u", "%u")])
def test_steps_in_an_array_of_a_thread(first: str, second: str) -> None:
    """A step that is the same for a warp and one that each lane has for itself add up, in either order."""
    numbers = "%m = arith.extsi %n : i32 to i64\n%k = arith.addi %m, %m : i64\n%u = arith.extsi %t : i32 to i64\n"
    steps = (
        "%count = arith.constant 8 : i32\n%r = llvm.alloca %count x f32 : (i32) -> !llvm.ptr\n"
        f"%r1 = llvm.getelementptr %r[{first}] : (!llvm.ptr, i64) -> !llvm.ptr, f32\n"
        f"%r2 = llvm.getelementptr %r1[{second}] : (!llvm.ptr, i64) -> !llvm.ptr, f32\n"
        "%s = llvm.load %r2 : !llvm.ptr -> f32\n"
    )
    total = "i64" if {first, second} <= {"%m", "%k"} else "vector<32xi64>"
    run(
        THREAD + numbers + steps + ADDRESS + "llvm.store %s, %a : f32, !llvm.ptr<1>\n",
        f"# CHECK: scf.for\n# CHECK: scf.for\n# CHECK: arith.addi {{{{.*}}}} : {total}\n# CHECK: llvm.getelementptr",
    )
