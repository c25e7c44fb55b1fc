from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.objectstage.device_errors import ArchitectureError
from triptych.objectstage.errors import UnknownTargetError
from triptych.objectstage.target import find_target
from triptych.targets.nvptx.code_generation import TRIPLE
from triptych.targets.nvptx.description.architectures import ARCHITECTURES, NEWEST_PTX, Architecture

each_architecture = pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=lambda a: a.name)


@each_architecture
@pytest.mark.parametrize("newest", [False, True])
def test_llvm_knows_it_and_its_ptx(architecture: Architecture, newest: bool) -> None:
    """An unknown processor or version would be replaced silently: the text says what LLVM took."""
    version = NEWEST_PTX if newest else architecture.oldest_ptx
    request = Request(triple=TRIPLE, cpu=architecture.name, features=f"+ptx{version}", emit=("assembly",))
    ptx = shared_pool().compile(request, "define ptx_kernel void @k() { ret void }").assembly
    assert f".version {version // 10}.{version % 10}\n.target {architecture.name}\n" in ptx


def test_generations() -> None:
    facts = {a.name: (a.generation, a.is_specific, a.shared_of_a_block) for a in ARCHITECTURES.values()}
    assert facts["sm_80"] == (80, False, 163 * 1024)
    assert facts["sm_90a"] == (90, True, 227 * 1024)
    assert facts["sm_120a"] == (120, True, 99 * 1024)


def test_a_target_is_made_once_for_each_architecture() -> None:
    assert find_target("nvptx:sm_80") is find_target("nvptx:sm_80")
    assert find_target("nvptx:sm_80").name == "nvptx:sm_80"


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("nvptx", "target='nvptx:sm_80'"),
        ("nvptx:sm_91a", "did you mean 'sm_90a'?"),
        ("nvptx:gfx942", "target='nvptx:sm_80'"),
        ("cpu:sm_80", "target='cpu:64'"),
    ],
)
def test_other_names_are_refused(name: str, instead: str) -> None:
    with pytest.raises(UnknownTargetError) as caught:
        find_target(name)
    assert caught.value.instead == instead


# what an architecture lacks -------------------------------------------------------------------------------------
@tt.kernel
def elected(a: cute.Tensor) -> None:
    with cute.arch.elect_one():
        a[0] = 1.0


@tt.kernel
def fenced(a: cute.Tensor) -> None:
    cute.arch.fence_acq_rel_cluster()
    a[0] = 1.0


@tt.kernel
def ordered(a: cute.Tensor) -> None:
    cute.arch.atomic_add(a.iterator, 1.0, scope="cluster")


@tt.kernel
def reduced(a: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    a[t] = cute.arch.warp_redux_sync(a[t], "fmax")


@tt.jit
def launched(a: cute.Tensor, kernel: tt.Constexpr[Any]) -> None:
    kernel(a).launch(grid=1, block=32)


@tt.kernel
def nothing() -> None: ...


@tt.jit
def clustered() -> None:
    nothing().launch(grid=2, block=32, cluster=(2, 1, 1))


@tt.jit
def large(size: tt.Constexpr[int]) -> None:
    nothing().launch(grid=1, block=32, smem=size)


NEEDS = {elected: "sm_90", fenced: "sm_90", ordered: "sm_90", reduced: "sm_100a"}


@pytest.mark.parametrize("kernel", NEEDS, ids=lambda kernel: kernel.__name__)
def test_a_missing_instruction_is_refused_at_its_line(kernel: Any) -> None:
    with pytest.raises(ArchitectureError) as caught:
        tt.compile(launched, vector(), kernel, target="nvptx:sm_80")
    assert caught.value.expected == f"{NEEDS[kernel]} or newer"
    assert caught.value.span is not None
    assert caught.value.span.function == kernel.__name__


@needs_assembler
@pytest.mark.parametrize("kernel", NEEDS, ids=lambda kernel: kernel.__name__)
def test_where_the_table_has_an_instruction_it_assembles(kernel: Any) -> None:
    name = NEEDS[kernel]
    assert tt.compile(launched, vector(), kernel, target=f"nvptx:{name}").__cubin__


def test_clusters_need_their_generation() -> None:
    with pytest.raises(ArchitectureError, match="no clusters of blocks"):
        tt.compile(clustered, target="nvptx:sm_89")


def test_shared_memory_beyond_a_block_is_refused() -> None:
    with pytest.raises(ArchitectureError) as caught:
        tt.compile(large, 100 * 1024, target="nvptx:sm_89")
    assert (caught.value.found, caught.value.expected) == ("102400 bytes", "at most 101376 bytes")


@needs_assembler
def test_shared_memory_of_a_whole_block_is_not() -> None:
    assert tt.compile(large, 99 * 1024, target="nvptx:sm_89").__cubin__
