"""Who decides whether `a * b + c` may be rounded once: the kernel or host function, its caller, or `compile`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.ir.traced import traced_ir
from triptych import cute
from triptych.cute.runtime import make_fake_tensor
from triptych.fingerprint.cache_key import diff
from triptych.objectstage.errors import UnknownOptionError

SETTINGS = (None, True, False)
X = np.full(32, 1 + 2.0**-12, np.float32)
Y = np.full(32, -1 - 2.0**-11, np.float32)
FUSED, ROUNDED = np.float32(2.0**-24), np.float32(0.0)
"""What X * X + Y is with one rounding, and with two."""


def decorated(decorator: Callable[..., Any], contract: bool | None) -> Callable[[Any], Any]:
    chosen: Callable[[Any], Any] = decorator() if contract is None else decorator(contract=contract)
    return chosen


def program(kernel: bool | None = None, host: bool | None = None, inlined: bool | None = None) -> Any:
    """A host function that launches a kernel that calls a function; each may say something of contraction."""

    @decorated(tt.jit, inlined)
    def product(a: Any, b: Any, c: Any) -> Any:
        return a * b + c

    @decorated(tt.kernel, kernel)
    def device(x: cute.Tensor, y: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        y[thread] = product(x[thread], x[thread], y[thread])

    @decorated(tt.jit, host)
    def launch(x: cute.Tensor, y: cute.Tensor) -> None:
        device(x, y).launch(grid=1, block=32)

    return launch


def result(function: Any) -> np.float32:
    y = Y.copy()
    function(X, y)
    found: np.float32 = y[0]
    return found


def on_gpu(launch: Any, compiler: Any = tt.compile) -> list[str]:
    """The float instructions of the kernel."""
    like = make_fake_tensor(tt.Float32, (32,), (1,))
    return re.findall(r"\s((?:fma|mul|add|sub)\S*\.f32)\s", compiler(launch, like, like, target="nvptx:sm_90").__ptx__)


@pytest.mark.parametrize(("kernel", "inlined"), list(itertools.product(SETTINGS, SETTINGS)))
def test_kernels(kernel: bool | None, inlined: bool | None) -> None:
    """Kernels contract unless they say otherwise; what is inlined into them follows, unless it says otherwise."""
    said = next((setting for setting in (inlined, kernel) if setting is not None), True)
    launch = program(kernel, inlined=inlined)
    assert result(launch) == (FUSED if said else ROUNDED)
    assert on_gpu(launch) == (["fma.rn.f32"] if said else ["mul.rn.f32", "add.rn.f32"])


@pytest.mark.parametrize("host", SETTINGS)
def test_a_kernel_does_not_follow_its_host_function(host: bool | None) -> None:
    assert result(program(host=host)) == FUSED
    assert result(program(kernel=False, host=host)) == ROUNDED


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize(("kernel", "inlined"), list(itertools.product(SETTINGS, SETTINGS)))
def test_compile_decides_for_everything(kernel: bool | None, inlined: bool | None, everywhere: bool) -> None:
    launch = program(kernel, inlined=inlined)
    expected = FUSED if everywhere else ROUNDED
    assert result(tt.compile[cute.Contract(everywhere)](launch, X, Y)) == expected
    assert result(tt.compile(launch, X, Y, options=f"--contract={everywhere}")) == expected
    assert ("fma.rn.f32" in on_gpu(launch, tt.compile[cute.Contract(everywhere)])) is everywhere


def test_host_functions_compute_what_python_computes() -> None:
    def plain(a: tt.Float64, b: tt.Float64, c: tt.Float64) -> Any:
        return a * b + c

    a, c = 1 + 2.0**-30, -1 - 2.0**-29
    assert tt.jit(plain)(a, a, c) == a * a + c == 0.0
    assert tt.jit(contract=False)(plain)(a, a, c) == 0.0
    assert tt.jit(contract=True)(plain)(a, a, c) == 2.0**-60
    assert tt.compile[cute.Contract](plain, a, a, c)(a, a, c) == 2.0**-60


def test_an_inlined_function_follows_the_host_function() -> None:
    def product(a: Any, b: Any, c: Any) -> Any:
        return a * b + c

    @tt.jit(contract=True)
    def host(a: tt.Float64, b: tt.Float64, c: tt.Float64, d: tt.Float64) -> Any:
        return product(a, b, d), tt.jit(contract=False)(product)(b, c, d), product(a, c, d)

    a, d = 1 + 2.0**-30, -1 - 2.0**-29
    assert host(a, a, a, d) == (2.0**-60, 0.0, 2.0**-60)


def kernel_ir(body: Callable[[Any, Any], Any]) -> str:
    @tt.kernel
    def device(x: cute.Tensor, y: cute.Tensor) -> None:
        y[0] = body(x[0], y[0])

    @tt.jit
    def launch(x: cute.Tensor, y: cute.Tensor) -> None:
        device(x, y).launch(grid=1, block=1)

    return traced_ir(launch, X, Y)


def test_only_what_is_written_as_sum_and_product_is_marked() -> None:
    """Formulas of the language count on every rounding: `//` subtracts a remainder from what may be a product."""
    assert kernel_ir(lambda x, y: x * y // y).count("contract") == 1
    assert kernel_ir(lambda x, y: x * y % y).count("contract") == 1
    assert "contract" not in kernel_ir(lambda x, y: x / y)
    assert "contract" not in kernel_ir(lambda x, y: cute.math.add(x, y, rounding=cute.math.RoundingMode.NEAREST_EVEN))
    assert kernel_ir(lambda x, y: cute.math.add(cute.math.mul(x, y), y)).count("contract") == 2
    assert "contract" not in kernel_ir(lambda x, y: cute.math.fma(x, y, y))


def test_sums_of_reductions_are_not_contracted() -> None:
    def of_a_tensor(x: cute.Tensor) -> Any:
        values = x.load()
        return (values * values).reduce(cute.ReductionOp.ADD, 0.0, 0)

    @tt.kernel
    def device(x: cute.Tensor, y: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        y[0] = of_a_tensor(cute.make_tensor(x.iterator, cute.make_layout(8)))
        y[1] = cute.arch.warp_reduction_sum(x[thread] * x[thread])

    @tt.jit
    def launch(x: cute.Tensor, y: cute.Tensor) -> None:
        device(x, y).launch(grid=1, block=32)

    added = [line for line in traced_ir(launch, X, Y).splitlines() if "arith.addf" in line]
    assert len(added) == 4 + 5
    assert not [line for line in added if "contract" in line]


def test_the_setting_is_part_of_the_key() -> None:
    def plain(a: tt.Float64) -> Any:
        return a * a + a

    keys = [decorated(tt.jit, setting)(plain).explain_key(1.0) for setting in SETTINGS]
    assert len({key.digest for key in keys}) == 3
    assert diff(keys[0], keys[1]) == ["option own contract"]


def test_a_kernels_setting_is_part_of_the_key_of_what_launches_it() -> None:
    keys = {program(setting).explain_key(X, Y).digest for setting in SETTINGS}
    assert len(keys) == 3


@pytest.mark.parametrize("value", [1, 0, "yes", 0.5])
def test_unusable_values(value: Any) -> None:
    with pytest.raises(UnknownOptionError):
        tt.jit(contract=value)
    with pytest.raises(UnknownOptionError):
        cute.Contract(value)
