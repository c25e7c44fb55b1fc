"""`triptych.jax.call`: calls made of `@jit` functions behave in JAX's transforms as JAX's own operations do."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.frameworks.jax_kernels import checked, copy, like, mul, mul_kernel, ones
from triptych import cute
from triptych.diagnostics.tensor_errors import OperatorDeclarationError, OperatorGradientError, UnsupportedTensorError

jax: Any = pytest.importorskip("jax")
ours: Any = pytest.importorskip("triptych.jax")
jnp: Any = jax.numpy
older: Any = importlib.import_module("jax.experimental")
enable_x64: Any = jax.enable_x64 if hasattr(jax, "enable_x64") else older.enable_x64
THREADS = 32


# kernels --------------------------------------------------------------------------------------------------------------
@tt.jit
def mul_backward(a: cute.Tensor, b: cute.Tensor, grad_c: cute.Tensor, grad_a: cute.Tensor, grad_b: cute.Tensor) -> None:
    mul_kernel(grad_c, b, grad_a).launch(grid=a.shape[0], block=THREADS)
    mul_kernel(grad_c, a, grad_b).launch(grid=a.shape[0], block=THREADS)


@tt.jit
def negate(x: cute.Tensor, y: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        y[i] = not x[i]


@tt.jit
def scale(x: cute.Tensor, factor: tt.Float32, y: cute.Tensor, times: tt.Constexpr[int] = 1) -> None:
    for i in range(x.shape[0]):
        y[i] = x[i] * factor * times


@tt.jit
def shift(x: cute.Tensor, by: tt.Int32, y: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        y[i] = x[i] + by


@tt.jit
def both(x: cute.Tensor, total: cute.Tensor, double: cute.Tensor) -> None:
    found = tt.Float32(0)
    for i in range(x.shape[0]):
        found += x[i]
        double[i] = x[i] * 2.0
    total[()] = found


@tt.jit
def both_sum(x: cute.Tensor, total: cute.Tensor) -> None:
    total[()] = x[0]


@tt.jit
def increment(x: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        x[i] = x[i] + 1.0


@tt.jit
def increment_into(x: cute.Tensor, y: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        y[i] = x[i] + 1.0


@tt.jit
def nothing(x: cute.Tensor, y: cute.Tensor) -> None:
    pass


@tt.jit
def of_four(x: cute.Tensor, y: cute.Tensor) -> None:
    for i in tt.range_constexpr(cute.size(x)):
        y[i] = x[i] + cute.size(x)


mul_call = ours.call(mul, output_shape_dtype=like, vjp=mul_backward)


# values ---------------------------------------------------------------------------------------------------------------
def test_a_call_inside_and_outside_of_jit() -> None:
    for shape in ((2, 3), (5, 40), (1, 1)):
        a, b = np.random.rand(2, *shape).astype(np.float32)
        np.testing.assert_array_equal(mul_call(a, b), a * b)
        found = jax.jit(lambda a, b: mul_call(a, b) + 1)(a, b)
        np.testing.assert_array_equal(found, a * b + 1)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "int8", "int16", "int32", "uint8", "uint32"])
def test_element_types(dtype: str) -> None:
    x = jnp.arange(9).astype(dtype)
    found = jax.jit(ours.call(copy, output_shape_dtype=like))(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(found), np.asarray(x))


def test_booleans() -> None:
    x = jnp.asarray([True, False, True])
    np.testing.assert_array_equal(jax.jit(ours.call(negate, output_shape_dtype=like))(x), [False, True, False])


def test_wide_types() -> None:
    with enable_x64(True):
        for dtype in ("float64", "int64", "uint64"):
            x = jnp.arange(5).astype(dtype) * 3
            assert x.dtype == dtype
            np.testing.assert_array_equal(jax.jit(ours.call(copy, output_shape_dtype=like))(x), x)


def test_elements_that_the_language_has_not() -> None:
    with pytest.raises(UnsupportedTensorError, match="complex64"):
        ours.call(copy, output_shape_dtype=like)(jnp.ones(3, jnp.complex64))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_arrays(shape: tuple[int, ...]) -> None:
    assert jax.jit(mul_call)(jnp.ones(shape), jnp.ones(shape)).shape == shape


def test_two_outputs_one_without_modes() -> None:
    shapes = {"total": jax.ShapeDtypeStruct((), np.float32), "double": jax.ShapeDtypeStruct((4,), np.float32)}
    order = ("double", "total")  # of the leaves of a dict: by name

    @tt.jit
    def swapped(x: cute.Tensor, double: cute.Tensor, total: cute.Tensor) -> None:
        both(x, total, double)

    found = jax.jit(ours.call(swapped, output_shape_dtype=shapes))(jnp.arange(4.0))
    assert tuple(sorted(found)) == order
    assert float(found["total"]) == 6
    np.testing.assert_array_equal(found["double"], [0, 2, 4, 6])
    pair = ours.call(both, output_shape_dtype=(shapes["total"], shapes["double"]))(jnp.arange(4.0))
    assert isinstance(pair, tuple)
    assert float(pair[0]) == 6


def test_numbers_that_are_known() -> None:
    x = jnp.arange(3.0)
    for factor in (0.5, 3):
        for times in (1, 2):
            found = ours.call(scale, output_shape_dtype=like, factor=factor, times=times)
            np.testing.assert_array_equal(jax.jit(found)(x), np.arange(3.0) * factor * times)


def test_numbers_that_a_call_tells() -> None:
    scaled = jax.jit(ours.call(scale, output_shape_dtype=like))
    for factor in (0.5, 3, True, np.float32(2), jnp.asarray(7)):
        np.testing.assert_array_equal(scaled(jnp.arange(3.0), factor), np.arange(3.0) * np.float32(factor))
    shifted = jax.jit(ours.call(shift, output_shape_dtype=like))
    for by in (-3, np.int8(-5), np.uint16(40000), True):
        np.testing.assert_array_equal(shifted(jnp.arange(3), by), np.arange(3) + int(by))
    with pytest.raises(OperatorDeclarationError, match="`by` of shift is a number"):
        shifted(jnp.arange(3), jnp.arange(2))


def test_static_shapes() -> None:
    call = ours.call(of_four, output_shape_dtype=like, use_static_tensors=True)
    for size in (4, 6):
        np.testing.assert_array_equal(jax.jit(call)(ones(size)), 1 + np.full(size, size))


def test_modes_in_another_order() -> None:
    @tt.jit
    def transpose(x: cute.Tensor, y: cute.Tensor) -> None:
        for i in range(y.shape[0]):
            for j in range(y.shape[1]):
                y[i, j] = x[i, j]

    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    shape = jax.ShapeDtypeStruct((3, 2), np.float32)
    for static in (True, False):
        spec = ours.TensorSpec(mode=(1, 0), static=static)
        found = jax.jit(ours.call(transpose, output_shape_dtype=shape, input_spec=(spec,)))(x)
        np.testing.assert_array_equal(found, x.T)
    with pytest.raises(OperatorDeclarationError, match="TensorSpec of `x`"):
        ours.call(transpose, output_shape_dtype=shape, input_spec=(ours.TensorSpec(mode=(1, 1)),))(x)


def test_a_promised_multiple_is_checked() -> None:
    call = ours.call(copy, output_shape_dtype=like, input_spec=(ours.TensorSpec(divisibility=(4,)),))
    np.testing.assert_array_equal(jax.jit(call)(ones(8)), np.ones(8))
    with pytest.raises(Exception, match=r"TT0643|multiple of 4"):
        jax.jit(call)(ones(6)).block_until_ready()


def test_eight_threads() -> None:
    run = jax.jit(mul_call)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for size in range(1, 40):
                a = np.full((3, size), number, np.float32)
                np.testing.assert_array_equal(run(a, a), a * a)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# written inputs -------------------------------------------------------------------------------------------------------
def test_a_donated_input_is_the_output_and_others_stay() -> None:
    call = ours.call(increment, output_shape_dtype=like, input_output_aliases={0: 0})
    x = jnp.arange(1000.0)
    before = x.unsafe_buffer_pointer()
    y = jax.jit(call)(x)
    np.testing.assert_array_equal(x, np.arange(1000.0))
    np.testing.assert_array_equal(y, np.arange(1000.0) + 1)
    z = jax.jit(call, donate_argnums=0)(x)
    assert z.unsafe_buffer_pointer() == before
    assert x.is_deleted()
    np.testing.assert_array_equal(z, np.arange(1000.0) + 1)


def test_one_array_as_two_inputs_of_which_one_is_written() -> None:
    @tt.jit
    def add_reversed(x: cute.Tensor, y: cute.Tensor) -> None:
        for i in range(x.shape[0]):
            x[i] = x[i] + y[x.shape[0] - 1 - i]

    call = ours.call(add_reversed, output_shape_dtype=like, input_output_aliases={0: 0})
    for donated in ((), (0,)):
        x = jnp.arange(100.0)
        np.testing.assert_array_equal(jax.jit(lambda x: call(x, x), donate_argnums=donated)(x), np.full(100, 99.0))


def test_an_output_in_an_input_may_have_a_parameter_of_its_own() -> None:
    call = ours.call(increment_into, output_shape_dtype=like, input_output_aliases={0: 0})
    np.testing.assert_array_equal(jax.jit(call)(jnp.arange(5.0)), np.arange(5.0) + 1)


def test_a_written_input_is_declared() -> None:
    bad = ours.call(increment, output_shape_dtype=())  # here
    with pytest.raises(OperatorDeclarationError, match="writes the input `x`") as caught:
        jax.jit(bad)(ones(3))
    assert caught.value.span is not None
    assert caught.value.span.text().endswith("# here")
    assert "input_output_aliases={0: 0}" in caught.value.instead


def test_an_output_is_written() -> None:
    bad = ours.call(nothing, output_shape_dtype=like)  # here
    with pytest.raises(OperatorDeclarationError, match="never writes the output `y`") as caught:
        jax.jit(bad)(ones(3))
    assert caught.value.span is not None
    assert caught.value.span.text().endswith("# here")


def test_an_alias_fits() -> None:
    shape = jax.ShapeDtypeStruct((4,), np.float32)
    for aliases in ({0: 0}, {1: 0}, {0: 1}):
        with pytest.raises(OperatorDeclarationError, match="share their memory"):
            ours.call(increment_into, output_shape_dtype=shape, input_output_aliases=aliases)(ones(3))


# declarations ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ours.call(mul_kernel, output_shape_dtype=like), "made of a `@jit` function"),
        (lambda: ours.call(3, output_shape_dtype=like), "made of a `@jit` function"),
        (lambda: ours.call(mul, output_shape_dtype=like, vmap="loop"), "no rule of `jax.vmap`"),
        (lambda: ours.call(mul, output_shape_dtype=like, vjp=3), "computes no cotangents"),
        (lambda: ours.call(mul, output_shape_dtype=like, d=3), "no parameter `d`"),
        (lambda: ours.call(mul, output_shape_dtype=like)(ones(1, 1)), "not as many parameters"),
        (lambda: ours.call(mul, output_shape_dtype=like)(*[ones(1, 1)] * 4), "not as many parameters"),
        (lambda: ours.call(mul, output_shape_dtype=like)(object(), "b"), "takes arrays"),
    ],
)
def test_a_wrong_declaration_is_an_error_at_its_line(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(OperatorDeclarationError, match=said) as caught:
        make()
    assert caught.value.code == "TT0654"
    assert caught.value.span is not None
    assert caught.value.span.file == __file__


def test_a_function_that_returns_is_refused() -> None:
    @tt.jit
    def returning(x: cute.Tensor, y: cute.Tensor) -> Any:
        y[0] = x[0]
        return x[0]

    with pytest.raises(OperatorDeclarationError, match="returns a value"):
        ours.call(returning, output_shape_dtype=like)(ones(3))


def test_a_tracer_given_to_the_function_itself() -> None:
    with pytest.raises(TypeError, match="TT0651") as caught:
        jax.jit(lambda x: increment(x))(ones(3))
    assert "triptych.jax.call" in str(caught.value)


# errors of calls ------------------------------------------------------------------------------------------------------
def test_a_failed_check_of_the_kernel_is_told_by_xla() -> None:
    run = jax.jit(ours.call(checked, output_shape_dtype=like))
    np.testing.assert_array_equal(run(ones(3)), np.ones(3))
    for _ in range(2):
        with pytest.raises(Exception, match="x is never negative") as caught:
            run(-ones(3)).block_until_ready()
        assert "[TT" in str(caught.value)
        assert "jax_kernels.py" in str(caught.value)
    np.testing.assert_array_equal(run(ones(3)), np.ones(3))


def test_errors_in_threads_of_xla_keep_their_text() -> None:
    """Other threads than Python's have no state of Python's that an exception could be kept in."""
    bad = ours.call(checked, output_shape_dtype=like)

    def program(x: Any) -> Any:
        found = [bad(x - i) for i in range(6)]
        return sum(jnp.sort(each) for each in found)

    for _ in range(5):
        with pytest.raises(Exception, match="x is never negative"):
            jax.jit(program)(ones(1000)).block_until_ready()


# transforms -----------------------------------------------------------------------------------------------------------
def test_gradients_in_float64() -> None:
    check_grads = pytest.importorskip("jax.test_util").check_grads
    with enable_x64(True):
        a, b = np.random.rand(2, 3, 5)
        check_grads(mul_call, (a, b), order=1, modes=["rev"])
        check_grads(jax.jit(lambda a, b: jnp.sin(mul_call(a * 2, b))), (a, b), order=1, modes=["rev"])


def test_a_vjp_may_be_a_call_or_a_function() -> None:
    a, b = jnp.asarray(np.random.rand(2, 3, 5), jnp.float32)
    backward = ours.call(mul_backward, output_shape_dtype=lambda a, b, grad_c: [a, b])
    functions = (
        backward,
        lambda a, b, grad_c: (grad_c * b, grad_c * a),
        lambda a, b, grad_c: {"grad_b": grad_c * a, "grad_a": grad_c * b},
    )
    for vjp in functions:
        call = ours.call(mul, output_shape_dtype=like, vjp=vjp)
        found = jax.jit(jax.grad(lambda a, b, call=call: (call(a, b) ** 2).sum(), argnums=(0, 1)))(a, b)
        np.testing.assert_allclose(found[0], 2 * a * b * b, rtol=1e-5)
        np.testing.assert_allclose(found[1], 2 * a * b * a, rtol=1e-5)
    none_for_b = ours.call(mul, output_shape_dtype=like, vjp=lambda b, grad_c: (grad_c * b, None))
    np.testing.assert_array_equal(jax.grad(lambda b: none_for_b(a, b).sum())(b), np.zeros((3, 5)))


def test_a_vjp_may_take_results() -> None:
    @tt.jit
    def exponential(x: cute.Tensor, y: cute.Tensor) -> None:
        for i in range(x.shape[0]):
            y[i] = cute.math.exp(x[i])

    call = ours.call(exponential, output_shape_dtype=like, vjp=lambda y, grad_y: y * grad_y)
    x = jnp.asarray([0.0, 1.0, 2.0])
    np.testing.assert_allclose(jax.grad(lambda x: call(x).sum())(x), np.exp(x), rtol=1e-5)


@pytest.mark.parametrize(
    ("vjp", "said"),
    [
        (lambda z: z, "takes `z`"),
        (lambda grad_c: grad_c, "another number of cotangents"),
        (mul, "computes no cotangent"),
    ],
)
def test_a_vjp_that_does_not_fit(vjp: Callable[..., Any], said: str) -> None:
    call = ours.call(mul, output_shape_dtype=like, vjp=vjp)
    with pytest.raises(OperatorDeclarationError, match=said):
        jax.grad(lambda a: call(a, a).sum())(ones(2, 2))


def test_without_vjp_a_gradient_is_an_error_that_names_the_call() -> None:
    call = ours.call(mul, output_shape_dtype=like)
    for transform in (jax.grad, lambda f: jax.jit(jax.grad(f))):
        with pytest.raises(OperatorGradientError, match="call of mul has no vjp") as caught:
            transform(lambda a: call(a, a).sum())(ones(2, 2))
        assert "vjp=" in caught.value.instead
        assert caught.value.span is not None
        assert caught.value.span.file == __file__
    a = jax.grad(lambda a: (call(ones(2, 2), ones(2, 2)) * a).sum())(ones(2, 2))  # not through the call
    np.testing.assert_array_equal(a, np.ones((2, 2)))


def test_second_derivatives() -> None:
    @tt.jit
    def square(x: cute.Tensor, y: cute.Tensor) -> None:
        for i in range(x.shape[0]):
            y[i] = x[i] * x[i]

    squared = ours.call(square, output_shape_dtype=like, vjp=lambda x, grad_y: 2 * x * grad_y)
    x = jnp.asarray([1.0, 2.0])
    np.testing.assert_array_equal(jax.jacrev(jax.grad(lambda x: (squared(x) ** 2).sum()))(x), np.diag(12 * x * x))
    with pytest.raises(OperatorGradientError, match="call of mul_backward has no vjp"):
        jax.grad(lambda a: jax.grad(lambda a: (mul_call(a, a) ** 2).sum())(a).sum())(ones(2, 2))


def test_loops_and_branches_of_jax() -> None:
    doubled = ours.call(scale, output_shape_dtype=lambda x: x, factor=2.0)
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(jax.lax.scan(lambda c, _: (doubled(c), c.sum()), x, None, length=3)[0], 8 * x)
    np.testing.assert_array_equal(jax.lax.cond(x[0] < 1, doubled, lambda x: x, x), 2 * x)
    assert jax.eval_shape(doubled, x).shape == (3,)


@tt.jit
def mul_batches(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    """Of tensors of two modes, or of batches of them, which may be one for all."""
    if tt.const_expr(cute.rank(a) == 3):
        for n in range(c.shape[0]):
            for i in range(c.shape[1]):
                for j in range(c.shape[2]):
                    m, k = min(n, a.shape[0] - 1), min(n, b.shape[0] - 1)
                    c[n, i, j] = a[m, i, j] * b[k, i, j]
    else:
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                c[i, j] = a[i, j] * b[i, j]


@pytest.mark.parametrize("rule", ["sequential", "expand_dims", "broadcast_all"])
def test_batches(rule: str) -> None:
    call = ours.call(mul_batches, output_shape_dtype=like, vmap=rule, vjp=mul_backward)
    a, b = jnp.asarray(np.random.rand(2, 4, 3, 5), jnp.float32)
    np.testing.assert_array_equal(jax.vmap(call)(a, b), a * b)
    np.testing.assert_array_equal(jax.jit(jax.vmap(call, in_axes=(1, None), out_axes=1))(a, b[:, 0]), a * b[:, :1])
    np.testing.assert_array_equal(jax.vmap(call, in_axes=(0, None))(a, b[0]), a * b[0])


def test_a_number_for_each_element_of_a_batch() -> None:
    x, factors = jnp.arange(6.0).reshape(2, 3), jnp.asarray([2.0, 3.0])
    found = jax.vmap(ours.call(scale, output_shape_dtype=lambda x, _: x))(x, factors)
    np.testing.assert_array_equal(found, x * factors[:, None])

    @tt.jit
    def scale_batch(x: cute.Tensor, factor: tt.Float32, y: cute.Tensor) -> None:
        if tt.const_expr(cute.rank(x) == 1):
            scale(x, factor, y)
        else:
            for i in range(x.shape[0]):
                for j in range(x.shape[1]):
                    y[i, j] = x[i, j] * factor

    whole = ours.call(scale_batch, output_shape_dtype=lambda x, _: x, vmap="expand_dims")
    np.testing.assert_array_equal(jax.vmap(whole, in_axes=(0, None))(x, 2.0), x * 2)
    with pytest.raises(OperatorDeclarationError, match="one number for the whole batch"):
        jax.vmap(whole)(x, factors)


def test_an_error_is_at_the_users_line_when_jax_calls_the_call() -> None:
    with pytest.raises(OperatorGradientError) as caught:
        jax.jit(jax.grad(ours.call(both_sum, output_shape_dtype=jax.ShapeDtypeStruct((), np.float32))))(ones(3))
    assert caught.value.span is not None
    assert caught.value.span.file == __file__


def test_batches_of_gradients() -> None:
    a, b = jnp.asarray(np.random.rand(2, 4, 3, 5), jnp.float32)
    found = jax.jit(jax.vmap(jax.grad(lambda a, b: mul_call(a, b).sum())))(a, b)
    np.testing.assert_array_equal(found, b)
    found = jax.grad(lambda a: jax.vmap(mul_call)(a, b).sum())(a)
    np.testing.assert_array_equal(found, b)


def test_a_rule_may_be_a_function() -> None:
    def rule(size: int, batched: list[bool], a: Any, b: Any) -> Any:
        assert (size, batched) == (4, [True, True])
        return mul_call(a.reshape(-1, 5), b.reshape(-1, 5)).reshape(a.shape), True

    call = ours.call(mul, output_shape_dtype=like, vmap=rule)
    a, b = jnp.asarray(np.random.rand(2, 4, 3, 5), jnp.float32)
    np.testing.assert_array_equal(jax.vmap(call)(a, b), a * b)
