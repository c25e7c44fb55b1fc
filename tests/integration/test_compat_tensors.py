"""Tensors as host programs prepare them with torch: filled, ordered, of all element types."""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import Any

import pytest

import triptych as tt
from triptych import testing
from triptych.cute.runtime import from_dlpack

torch: Any = pytest.importorskip("torch")
names: Any = pytest.importorskip("triptych.torch")


def test_matrices_have_the_mode_contiguous_that_is_asked_for() -> None:
    for major, strides in ((True, (1, 5, 35)), (False, (7, 1, 35))):
        made = names.matrix(2, 5, 7, major, tt.Float16)
        assert (made.shape, made.stride(), made.dtype) == ((5, 7, 2), strides, torch.float16)
        assert set(made.unique().tolist()) <= {-2, -1, 0, 1}
        assert names.get_leading_dim(made) == (0 if major else 1)
    assert names.matrix(1, 9, 9, True, tt.Uint8).max() > 0


def test_ways_to_fill() -> None:
    make = names.create_and_permute_torch_tensor
    kinds = names.TensorInitType
    ones = make((4, 3), torch.bfloat16, (1, 0), kinds.SCALAR, names.ScalarInitConfig(1.5))
    assert ones.shape == (3, 4)
    assert (ones == 1.5).all()
    drawn = make((50, 50), torch.int8, init_type=kinds.RANDOM, init_config=names.RandomInitConfig(3, 6))
    assert set(drawn.unique().tolist()) == {3, 4, 5}
    normal = make((100, 100), torch.float32, None, kinds.GAUSSIAN, names.GaussianInitConfig(5.0, 0.1, 2.0))
    assert normal.mean().item() == pytest.approx(10, abs=0.1)
    assert make((2, 2), torch.uint8, init_type=kinds.SKIP).shape == (2, 2)
    with pytest.raises(TypeError, match="ScalarInitConfig"):
        make((2,), torch.float32, init_type=kinds.SCALAR, init_config=names.RandomInitConfig())


@pytest.mark.parametrize("dtype", [tt.Float32, tt.Float16, tt.BFloat16, tt.Float8E4M3FN, tt.Float8E5M2, tt.Int8])
@pytest.mark.parametrize("is_dynamic", [True, False])
def test_a_tensor_like_another(dtype: Any, is_dynamic: bool) -> None:
    data = names.matrix(2, 6, 8, True, tt.Float32)
    tensor, storage = names.cute_tensor_like(data, dtype, is_dynamic, assumed_align=16)
    assert tensor.element_type is dtype
    assert storage.stride() == data.stride()
    assert torch.equal(storage.float().cpu(), data)
    back = torch.zeros(6, 8, 2)
    testing.convert(tensor, from_dlpack(back))
    assert torch.equal(back, data)


@pytest.mark.parametrize("dtype", [tt.Float4E2M1FN, tt.Int4])
def test_packed_elements_come_back(dtype: Any) -> None:
    data = names.matrix(2, 6, 8, False, tt.Float32)
    tensor, _ = names.cute_tensor_like(data, dtype, True, assumed_align=16)
    back = torch.zeros(6, 8, 2)
    testing.convert(tensor, from_dlpack(back))
    assert torch.equal(back, data)


def test_packed_elements_in_the_first_call_of_a_process() -> None:
    program = """
import torch, triptych as tt
from triptych.cute.runtime import from_dlpack
from triptych.cute.testing import convert

bytes = torch.zeros(4, 4, dtype=torch.int8)
packed = from_dlpack(bytes)
packed.element_type = tt.Float4E2M1FN
convert(from_dlpack(torch.ones(4, 4)), packed)
assert bytes.view(-1)[:8].tolist() == [0x22] * 8, bytes
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_memory_at_an_address() -> None:
    x = torch.arange(6, dtype=torch.int32)
    assert names.as_tensor(x.data_ptr(), (2, 3), torch.int32).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_arguments_of_programs() -> None:
    parser = argparse.ArgumentParser()
    testing.add_tensor_init_args(parser, supports_int_dtypes=True)
    for given, is_right in (
        ("", True),
        ("--init_normal --normal_mean 2", True),
        ("--normal_mean 2", False),
        ("--init_normal --normal_std -1", False),
    ):
        args = parser.parse_args(given.split())
        if is_right:
            testing.validate_tensor_init_args(args, parser)
        else:
            with pytest.raises(SystemExit):
                testing.validate_tensor_init_args(args, parser)
    assert issubclass(testing.CantImplementError, Exception)


def test_fake_tensors_are_compiled_for() -> None:
    from_fakes: Any = pytest.importorskip("torch._subclasses.fake_tensor")

    @tt.jit
    def copy(x: tt.cute.Tensor, y: tt.cute.Tensor) -> None:
        testing.convert(x, y)

    with from_fakes.FakeTensorMode():
        one, other = torch.zeros(4, 3), torch.zeros(4, 3, dtype=torch.float16)
        compiled = tt.compile(copy, from_dlpack(one), from_dlpack(other).mark_layout_dynamic())
    x, y = torch.randn(4, 3), torch.zeros(4, 3, dtype=torch.float16)
    compiled(from_dlpack(x), from_dlpack(y).mark_layout_dynamic())
    assert torch.equal(y, x.half())
