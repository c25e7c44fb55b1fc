"""What can be wrong with copy instructions: there is none, or the tensors do not lie as it moves them."""

from __future__ import annotations

from triptych.cute.tracing.cute_errors import TensorError


class CopyInstructionError(TensorError, ValueError):
    """No copy instruction moves this many bits, matrices or elements of this type."""

    code = "TT0941"
    failing = """
from triptych import cute
from triptych.cute.nvgpu import cpasync

cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float16, num_bits_per_copy=16)
"""
    fixed = """
from triptych import cute
from triptych.cute.nvgpu import cpasync

cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float16, num_bits_per_copy=128)
"""


class CopyMemoryError(TensorError, TypeError):
    """A copy instruction goes from one kind of memory to another; a tensor lies elsewhere or holds other elements."""

    code = "TT0942"
    failing = """
from triptych import cute
from triptych.cute.nvgpu import cpasync

@tt.kernel
def k():
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=128)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, (4,), 16)
    cute.copy(atom, cute.make_rmem_tensor((4,), tt.Float32), shared)

@tt.jit
def f():
    k().launch(grid=1, block=32)

f()
"""
    fixed = """
from triptych import cute

@tt.kernel
def k():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), tt.Float32, num_bits_per_copy=128)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, (4,), 16)
    cute.copy(atom, cute.make_rmem_tensor((4,), tt.Float32), shared)

@tt.jit
def f():
    k().launch(grid=1, block=32)

f()
"""


class CopyAlignmentError(TensorError, ValueError):
    """A copy instruction needs addresses of an alignment that cannot be proven."""

    code = "TT0943"
    failing = """
from triptych import cute
from triptych.cute.nvgpu import cpasync

@tt.kernel
def k(source: cute.Pointer):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=128)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, (4,), 4)
    cute.copy(atom, cute.make_tensor(source, (4,)), shared)

@tt.jit
def f(address: tt.Int64):
    k(cute.make_ptr(tt.Float32, address, cute.AddressSpace.gmem, assumed_align=16)).launch(grid=0, block=32)

f(0)
"""
    fixed = """
from triptych import cute
from triptych.cute.nvgpu import cpasync

@tt.kernel
def k(source: cute.Pointer):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=128)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, (4,), 16)
    cute.copy(atom, cute.make_tensor(source, (4,)), shared)

@tt.jit
def f(address: tt.Int64):
    k(cute.make_ptr(tt.Float32, address, cute.AddressSpace.gmem, assumed_align=16)).launch(grid=0, block=32)

f(0)
"""


class CopyLayoutError(TensorError, ValueError):
    """The elements that one copy instruction moves do not lie side by side."""

    code = "TT0944"
    failing = """
from triptych import cute
from triptych.cute.nvgpu import cpasync

@tt.kernel
def k(source: cute.Pointer):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=128)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, (4,), 16)
    column = cute.make_layout((4,), stride=(8,))
    cute.copy(atom, cute.make_tensor(source, column), shared)

@tt.jit
def f(address: tt.Int64):
    k(cute.make_ptr(tt.Float32, address, cute.AddressSpace.gmem, assumed_align=16)).launch(grid=0, block=32)

f(0)
"""
    fixed = """
from triptych import cute
from triptych.cute.nvgpu import cpasync

@tt.kernel
def k(source: cute.Pointer):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=32)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, (4,), 16)
    column = cute.make_layout((4,), stride=(8,))
    cute.copy(atom, cute.make_tensor(source, column), shared)

@tt.jit
def f(address: tt.Int64):
    k(cute.make_ptr(tt.Float32, address, cute.AddressSpace.gmem, assumed_align=16)).launch(grid=0, block=32)

f(0)
"""


class TensorMapError(TensorError, ValueError):
    """No tensor map describes this tensor, or no box of it is this tile of shared memory."""

    code = "TT0945"
    failing = """
from triptych import cute
from triptych.cute.nvgpu import cpasync

@tt.jit
def f(address: tt.Int64):
    pointer = cute.make_ptr(tt.Float16, address, cute.AddressSpace.gmem, assumed_align=16)
    columns = cute.make_tensor(pointer, cute.make_layout((64, 64), stride=(1, 64)))
    rows = cute.make_layout((64, 64), stride=(64, 1))
    cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), columns, rows, (64, 64))

f(0)
"""
    fixed = """
from triptych import cute
from triptych.cute.nvgpu import cpasync

@tt.jit
def f(address: tt.Int64):
    pointer = cute.make_ptr(tt.Float16, address, cute.AddressSpace.gmem, assumed_align=16)
    columns = cute.make_tensor(pointer, cute.make_layout((64, 64), stride=(1, 64)))
    tile = cute.make_layout((64, 64), stride=(1, 64))
    cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), columns, tile, (64, 64))

f(0)
"""


class BoxCopyError(TensorError, ValueError):
    """A copy of boxes lacks what it needs: a barrier, a tile as the atom was made for, aligned shared memory."""

    code = "TT0946"
    failing = """
from triptych import cute
from triptych.cute.nvgpu import cpasync

@tt.kernel
def k(atom: cute.CopyAtom, tensor: cute.Tensor):
    shared = cute.SmemAllocator().allocate_tensor(tt.Float16, cute.make_layout((64, 64), stride=(64, 1)), 128)
    tile = cute.local_tile(tensor, (64, 64), (0, 0))
    here, there = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), cute.group_modes(tile, 0, 2)
    )
    cute.copy(atom, there, here)

@tt.jit
def f(address: tt.Int64):
    pointer = cute.make_ptr(tt.Float16, address, cute.AddressSpace.gmem, assumed_align=16)
    rows = cute.make_layout((64, 64), stride=(64, 1))
    atom, tensor = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), cute.make_tensor(pointer, rows), rows, (64, 64)
    )
    k(atom, tensor).launch(grid=0, block=32)

f(0)
"""
    fixed = """
from triptych import cute
from triptych.cute.nvgpu import cpasync

@tt.kernel
def k(atom: cute.CopyAtom, tensor: cute.Tensor):
    shared = cute.SmemAllocator().allocate_tensor(tt.Float16, cute.make_layout((64, 64), stride=(64, 1)), 128)
    tile = cute.local_tile(tensor, (64, 64), (0, 0))
    here, there = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), cute.group_modes(tile, 0, 2)
    )
    cute.copy(atom, here, there)

@tt.jit
def f(address: tt.Int64):
    pointer = cute.make_ptr(tt.Float16, address, cute.AddressSpace.gmem, assumed_align=16)
    rows = cute.make_layout((64, 64), stride=(64, 1))
    atom, tensor = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileS2GOp(), cute.make_tensor(pointer, rows), rows, (64, 64)
    )
    k(atom, tensor).launch(grid=0, block=32)

f(0)
"""
