"""`bound-launches`: hints of a kernel and the cluster of its launch become what the code generator reads."""

from __future__ import annotations

from tests.passes.running import checked, kernel
from triptych.targets.nvptx.passes.launch_bounds import bound_launches

HINTS = "attributes {triptych.max_number_threads = 256 : i32, triptych.min_blocks_per_mp = 2 : i32}"


def test_hints_become_attributes_of_nvvm() -> None:
    checked(
        kernel("", attributes=HINTS),
        bound_launches,
        """
        # CHECK-NOT: triptych.
        # CHECK: nvvm.maxntid = array<i32: 256>, nvvm.minctasm = 2 : i32
        """,
    )


def test_kernels_that_move_registers_say_how_many_blocks_there_are() -> None:
    """The assembler ignores the instruction otherwise."""
    change = '"simt.set_registers"() {kind = "increase", count = 232 : i64} : () -> ()'
    checked(kernel(change), bound_launches, "# CHECK: nvvm.minctasm = 1 : i32")
    checked(kernel(change, attributes=HINTS), bound_launches, "# CHECK: nvvm.minctasm = 2 : i32")


def test_the_cluster_of_the_launch() -> None:
    host = """
    func.func @host() {
      %1 = arith.constant 1 : i32
      %2 = arith.constant 2 : i32
      gpu.launch_func @kernels::@k clusters in (%2, %1, %1) blocks in (%2, %1, %1) threads in (%1, %1, %1) : i32
      return
    }
    """
    checked(
        kernel("", host=host),
        bound_launches,
        """
        # CHECK: gpu.func @k() kernel attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>}
        """,
    )


def test_numbers_of_blocks_are_bounded_unless_the_grid_is_known() -> None:
    checked(
        kernel("%x = gpu.block_id x\n%y = gpu.block_id y"),
        bound_launches,
        """
        # CHECK: gpu.block_id x upper_bound 2147483647
        # CHECK: gpu.block_id y upper_bound 65535
        """,
    )
    checked(
        kernel("%x = gpu.block_id x", attributes="attributes {known_grid_size = array<i32: 4, 1, 1>}"),
        bound_launches,
        """
        # CHECK-NOT: upper_bound
        """,
    )


def test_a_known_block_needs_no_bound() -> None:
    known = HINTS.replace("}", ", known_block_size = array<i32: 128, 1, 1>}")
    checked(kernel("", attributes=known), bound_launches, "# CHECK: nvvm.minctasm = 2\n# CHECK-NOT: maxntid")
    checked(kernel("", attributes=known), bound_launches, "# CHECK-NOT: maxntid\n# CHECK: nvvm.minctasm = 2")
    checked(kernel("%z = gpu.block_id z"), bound_launches, "# CHECK-NOT: nvvm.\n# CHECK: upper_bound 65535")
