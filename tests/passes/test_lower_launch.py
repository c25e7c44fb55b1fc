"""`lower-launch`: a launch is a call of the pool with packed arguments; blocks learn of their launch."""

from __future__ import annotations

from tests.passes.running import checked
from triptych.targets.cpu.passes.lower_launch import lower_launch

DESCRIPTION = ", ".join(f"%d{i}: i32" for i in range(7)) + ", %begin: i64, %end: i64"
PROGRAM = """
module attributes {gpu.container_module} {
  gpu.module @kernels { gpu.func @k(%n: f32) kernel { gpu.return } }
  func.func private @triptych.poll()
  func.func private @triptych.launch() -> !llvm.ptr
  func.func @k.blocks(%n: f32, DESCRIPTION) ATTRIBUTES {
    BODY
    return
  }
  func.func @f(%x: f32, %g: i32) {
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %bytes = arith.constant 48 : i32
    gpu.launch_func @kernels::@k blocks in (%g, %two, %one) threads in (%two, %two, %one) : i32
      SHARED args(%x : f32)
    return
  }
}
""".replace("DESCRIPTION", DESCRIPTION)


def program(body: str = "", attributes: str = "", shared: str = "dynamic_shared_memory_size %bytes") -> str:
    marked = f"attributes {{{attributes}}}" if attributes else ""
    return PROGRAM.replace("BODY", body).replace("ATTRIBUTES", marked).replace("SHARED", shared)


def test_arguments_are_packed_on_the_stack() -> None:
    checked(
        program(),
        lower_launch,
        """
        # CHECK-NOT: gpu.container_module
        # CHECK-NOT: gpu.module
        # CHECK-NOT: @triptych.poll
        # CHECK-NOT: @triptych.launch
        # CHECK: func.func @f
        # CHECK-NEXT: arith.constant 1 : i64
        # CHECK-NEXT: %0 = llvm.alloca {{.*}} x !llvm.struct<(f32, i32, i32, i32, i32, i32, i32, i32)>
        # CHECK: %1 = llvm.getelementptr %0[0, 0]
        # CHECK-NEXT: llvm.store %arg0, %1 : f32
        # CHECK-NEXT: %2 = llvm.getelementptr %0[0, 1]
        # CHECK-NEXT: llvm.store %arg1, %2 : i32
        # CHECK: llvm.store %c48_i32, %8
        # CHECK-NEXT: llvm.mlir.addressof @k.chunk
        # CHECK: llvm.call @triptych_launch(
        # CHECK-NOT: gpu.launch_func
        """,
    )


def test_the_number_of_blocks_fits_a_counter() -> None:
    checked(
        program(),
        lower_launch,
        """
        # CHECK: %10 = arith.extsi %arg1 : i32 to i64
        # CHECK-NEXT: %11 = arith.extsi %c2_i32
        # CHECK-NEXT: %12 = arith.extsi %c1_i32
        # CHECK-NEXT: %13 = arith.muli %10, %11
        # CHECK-NEXT: %low, %high = arith.mulsi_extended %13, %12
        # CHECK: arith.constant 0 : i64
        # CHECK-NEXT: arith.cmpi eq, %high, %c0_i64
        # CHECK-NEXT: arith.cmpi sge, %low, %c0_i64
        # CHECK-NEXT: arith.andi
        # CHECK-NEXT: cf.assert {{.*}} a grid has too many blocks
        # CHECK: llvm.call @triptych_launch({{%\\w+, %\\w+}}, %low, %c2_i32, %c2_i32
        """,
    )


def test_memory_of_a_block_is_bounded() -> None:
    checked(
        program(attributes="triptych.block_bytes = 4096 : i64"),
        lower_launch,
        """
        # CHECK: %18 = arith.extui %c48_i32 : i32 to i64
        # CHECK: arith.constant 63 : i64
        # CHECK-NEXT: arith.addi %18
        # CHECK: arith.constant -64 : i64
        # CHECK-NEXT: arith.andi
        # CHECK: arith.constant 4096 : i64
        # CHECK-NEXT: arith.addi
        # CHECK: arith.constant 268435456 : i64
        # CHECK-NEXT: arith.cmpi ule
        # CHECK-NEXT: cf.assert {{.*}} needs more than 256 MiB of memory
        # CHECK: llvm.call @triptych_launch
        # CHECK-NEXT: arith.constant 1 : i32
        # CHECK-NEXT: arith.cmpi ne
        # CHECK-NEXT: cf.assert {{.*}} the system has no memory for a block
        # CHECK: arith.constant 0 : i32
        # CHECK-NEXT: arith.cmpi eq
        # CHECK-NEXT: cf.assert {{.*}} {triptych.error = "stopping"}
        """,
    )


def test_a_kernel_without_memory_of_its_own() -> None:
    checked(
        program(shared=""), lower_launch, "# CHECK: arith.constant 0 : i64\n# CHECK: arith.constant 268435456 : i64"
    )
    checked(program(shared=""), lower_launch, "# CHECK-NOT: %c48_i32,\n# CHECK: llvm.call @triptych_launch")


def test_a_chunk_unpacks_them() -> None:
    checked(
        program(),
        lower_launch,
        """
        # CHECK: llvm.func internal @k.chunk(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64, %arg3: !llvm.ptr)
        # CHECK-NEXT: %0 = llvm.getelementptr %arg0[0, 0]
        # CHECK-NEXT: %1 = llvm.load %0 : !llvm.ptr -> f32
        # CHECK-NEXT: %2 = llvm.getelementptr %arg0[0, 1]
        # CHECK: %15 = llvm.load %14 : !llvm.ptr -> i32
        # CHECK-NEXT: call @k.blocks(%1, %3, %5, %7, %9, %11, %13, %15, %arg1, %arg2, %arg3)
        """,
    )


def test_blocks_get_their_launch() -> None:
    body = """
    %l = func.call @triptych.launch() : () -> !llvm.ptr
    llvm.store %n, %l : f32, !llvm.ptr
    """
    checked(
        program(body),
        lower_launch,
        """
        # CHECK: func.func @k.blocks(%arg0: f32, {{.*}}, %arg10: !llvm.ptr) attributes {triptych.kernel}
        # CHECK-NEXT: llvm.store %arg0, %arg10
        # CHECK-NEXT: return
        """,
    )


def test_a_poll_looks_now_and_then() -> None:
    checked(
        program("func.call @triptych.poll() : () -> ()\nfunc.call @triptych.poll() : () -> ()"),
        lower_launch,
        """
        # CHECK: func.func @k.blocks
        # CHECK: %0 = llvm.alloca {{.*}} x i32
        # CHECK: arith.constant 0 : i32
        # CHECK-NEXT: llvm.store %c0_i32, %0
        # CHECK: %1 = llvm.load %0 : !llvm.ptr -> i32
        # CHECK-NEXT: arith.constant 1 : i32
        # CHECK-NEXT: %2 = arith.addi %1, %c1_i32
        # CHECK-NEXT: llvm.store %2, %0
        # CHECK-NEXT: arith.constant 63 : i32
        # CHECK-NEXT: %3 = arith.andi %2, %c63_i32
        # CHECK-NEXT: arith.constant 0 : i32
        # CHECK-NEXT: arith.cmpi eq, %3
        # CHECK-NEXT: scf.if
        # CHECK-NEXT: llvm.call @triptych_poll(%arg10)
        # CHECK: cf.assert {{.*}} {triptych.error = "stopping"}
        # CHECK: llvm.load %0
        # CHECK: llvm.call @triptych_poll(%arg10)
        # CHECK-NOT: func.call
        # CHECK: return
        """,
    )


def test_launches_are_distinguished() -> None:
    launch = """
    gpu.launch_func @kernels::@k blocks in (%g, %two, %one) threads in (%two, %two, %one) : i32 args(%x : f32)
    return
  }
}"""
    twice = program().rsplit("return", 1)[0] + launch
    checked(
        twice,
        lower_launch,
        """
        # CHECK: llvm.mlir.addressof @triptych.identity0
        # CHECK: llvm.mlir.addressof @triptych.identity1
        # CHECK: llvm.mlir.global internal constant @triptych.identity0("the kernel k
        """,
    )


def test_a_module_without_kernels() -> None:
    checked("func.func @f() { return }", lower_launch, "# CHECK: func.func @f\n# CHECK-NOT: llvm.func")
