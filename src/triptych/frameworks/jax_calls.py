"""Calls of JAX made of `@jit` functions: compiled while JAX traces, run by XLA without Python.

Input: a function whose parameters are inputs and then outputs, and what the outputs are. Output: a function of JAX
arrays for `jax.jit`, `jax.grad`, `jax.vmap`, `jax.shard_map` and `jax.export`.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from triptych.cute.runtime.fake_tensors import make_fake_stream
from triptych.diagnostics.tensor_errors import OperatorDeclarationError, OperatorGradientError
from triptych.driver.boundary import api_boundary
from triptych.driver.compiling import CompiledFunction
from triptych.driver.jitting import JitFunction
from triptych.frameworks.jax_arrays import (
    ELEMENTS,
    Tree,
    Value,
    array_facts,
    as_array,
    fake_tensor,
    is_number,
    jax,
    spec_of,
    stand_in,
)
from triptych.frameworks.jax_declarations import (
    Bound,
    Declaration,
    Specs,
    called_here,
    checked_function,
    positional_parameters,
)
from triptych.frameworks.xla_programs import PLATFORM, TARGET, Source, interface_minor, load_handler, program_text
from triptych.interop.streams import DEFAULT
from triptych.metastage.arguments.specs import defaults_of
from triptych.metastage.arguments.streams import STREAM
from triptych.support.source import Span
from triptych.support.tracebacks import caller, caller_past_libraries
from triptych.support.wording import did_you_mean

_GRADIENT = "grad_"
"""What a cotangent is called: `grad_` and the name of the parameter."""


class Call:
    """A function of JAX arrays that runs a compiled function."""

    def __init__(
        self, function: JitFunction, declared: Declaration, static: Mapping[str, Any], span: Span | None
    ) -> None:
        self.__name__ = function.__name__
        self._function = function
        self._declared = declared
        self._static = dict(static)
        self._span = span
        positional = positional_parameters(function, static, span)
        first = [each.name for each in positional[: int(declared.takes_stream)]]
        streams = [each.name for each in positional if each.declared is STREAM]
        self._streams = {*first, *streams}
        self._parameters = [each for each in positional if each.name not in self._streams]

    def __repr__(self) -> str:
        return f"<triptych.jax.call of {self.__name__}>"

    @api_boundary
    def __call__(self, *arrays: Value) -> Any:
        """The outputs, as `output_shape_dtype` has them."""
        span = caller_past_libraries()
        if len(arrays) > len(self._parameters):
            raise self._miscounted(len(arrays), 0, span)
        given = [
            as_array(array, parameter, self.__name__, span)
            for array, parameter in zip(arrays, self._parameters, strict=False)
        ]
        if not any(isinstance(each, jax.core.Tracer) for each in given):  # nobody transforms: a tenth of the time
            return self._bind(tuple(given), (), span)

        @jax.custom_vjp  # type: ignore[untyped-decorator,unused-ignore]
        def differentiable(*given: Value) -> Any:
            return self._batched(span)(*given)

        def forward(*given: Value) -> Any:
            if self._declared.vjp is None:
                raise self._no_gradient(span)
            outputs = differentiable(*given)  # which may be differentiated once more
            return outputs, (given, outputs)

        def backward(saved: tuple[Any, Any], cotangents: Value) -> Any:
            return self._cotangents(*saved, cotangents, span)

        differentiable.defvjp(forward, backward)
        return differentiable(*given)

    # batches --------------------------------------------------------------------------------------------------------
    def _batched(self, span: Span | None) -> Callable[..., Any]:
        """The call with its rule for `jax.vmap`."""
        rule = self._declared.vmap
        if rule == "sequential":
            return lambda *given: self._bind(given, (), span)

        @jax.custom_batching.custom_vmap  # type: ignore[untyped-decorator,unused-ignore]
        def batched(*given: Value) -> Any:
            return self._bind(given, (), span)

        def one_call(size: int, is_batched: Sequence[bool], *given: Value) -> Any:
            if callable(rule):
                return rule(size, is_batched, *given)
            arrays = []
            for i, (array, has_batch) in enumerate(zip(given, is_batched, strict=True)):
                if is_number(self._parameters[i]):
                    arrays.append(self._one_number(i, array, has_batch, span))
                    continue
                array = array if has_batch else array[None]
                whole = rule == "broadcast_all" or i in self._declared.aliases
                arrays.append(jax.numpy.broadcast_to(array, (size, *array.shape[1:])) if whole else array)
            outputs = self._bind(tuple(arrays), (size,), span)
            return outputs, jax.tree.map(lambda _: True, outputs)

        batched.def_vmap(one_call)
        return batched  # type: ignore[no-any-return,unused-ignore]

    def _one_number(self, index: int, number: Value, has_batch: bool, span: Span | None) -> Value:
        if not has_batch:
            return number
        raise OperatorDeclarationError(
            f"`{self._parameters[index].name}` of {self.__name__} is one number for the whole batch",
            span=span,
            found="a number for each element of the batch",
            expected="the same number for all of them",
            instead='`vmap="sequential"`, or an array in the place of the number',
        )

    # calls ----------------------------------------------------------------------------------------------------------
    def _bind(self, given: tuple[Value, ...], batch: tuple[int, ...], span: Span | None) -> Any:
        """Compile for these arrays, and record the call."""
        declared = self._declared
        outputs, tree = jax.tree.flatten(self._output_shapes(given, batch))
        bound = self._bound(given, outputs, len(batch), span)
        self._check_aliases(bound, outputs, span)
        compiled = self._compiled(bound, span)
        self._check_written(compiled, bound, span)
        text = program_text(compiled, self._sources(compiled, bound), len(given), len(outputs))
        call = jax.ffi.ffi_call(
            TARGET,
            [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in outputs],
            has_side_effect=compiled._loaded.compiled.lowered.traced.prints,
            vmap_method="sequential",
            input_output_aliases=dict(declared.aliases),
        )
        return jax.tree.unflatten(tree, call(*given, program=text))

    def _output_shapes(self, given: Sequence[Value], batch: tuple[int, ...]) -> Any:
        """What the outputs are, the batch's mode in front."""
        found = self._declared.outputs
        if callable(found):
            found = found(*(jax.ShapeDtypeStruct(each.shape[len(batch) :], each.dtype) for each in given))
        return jax.tree.map(lambda each: jax.ShapeDtypeStruct((*batch, *each.shape), each.dtype), found)

    def _bound(self, given: Sequence[Value], outputs: Sequence[Value], batch: int, span: Span | None) -> Bound:
        """Inputs and outputs by their parameters. Outputs that are inputs may have parameters of their own, or not."""
        shared = self._declared.aliases.values()
        alone = [j for j in range(len(outputs)) if j not in shared]
        defaults = defaults_of(self._function.function)
        required = sum(each.name not in defaults for each in self._parameters)
        for passed in (list(range(len(outputs))), alone):
            count = len(given) + len(passed)
            if required <= count <= len(self._parameters):
                break
        else:
            raise self._miscounted(len(given), len(alone), span)
        names = [each.name for each in self._parameters[:count]]
        specs = self._declared.input_specs, self._declared.output_specs
        batches = [0 if is_number(each) else batch for each in self._parameters]
        inputs = tuple(
            array_facts(names[i], array, spec_of(specs[0], i), batches[i], span) for i, array in enumerate(given)
        )
        made = tuple(
            array_facts(name, outputs[j], spec_of(specs[1], j), batch, span)
            for name, j in zip(names[len(given) :], passed, strict=True)
        )
        return Bound(inputs, made, tuple(passed))

    def _miscounted(self, inputs: int, outputs: int, span: Span | None) -> OperatorDeclarationError:
        names = ", ".join(each.name for each in self._parameters)
        return OperatorDeclarationError(
            f"{self.__name__} has not as many parameters as this call has inputs and outputs",
            span=span,
            found=f"{inputs} given" + (f", and {outputs} to be made" if outputs else ""),
            expected=f"a parameter for each input, then for each output: {self.__name__}({names})",
        )

    def _check_aliases(self, bound: Bound, outputs: Sequence[Value], span: Span | None) -> None:
        for i, j in self._declared.aliases.items():
            if 0 <= i < len(bound.inputs) and 0 <= j < len(outputs):
                source, made = bound.inputs[i], outputs[j]
                if source.shape == tuple(made.shape) and source.dtype == ELEMENTS.get(str(made.dtype)):
                    continue
            raise OperatorDeclarationError(
                "an input and an output that share their memory have one shape and one type",
                span=self._span,
                found=f"input_output_aliases={dict(self._declared.aliases)} for {len(bound.inputs)} inputs and "
                f"{len(outputs)} outputs",
                expected=f"an output {j} that is like the input {i}, numbered from 0",
                related=called_here(span),
            )

    # programs -------------------------------------------------------------------------------------------------------
    def _compiled(self, bound: Bound, span: Span | None) -> CompiledFunction:
        parameters = {each.name: each for each in self._parameters}
        given: dict[str, Any] = dict.fromkeys(self._streams, make_fake_stream())
        for each in (*bound.inputs, *bound.made):
            parameter = parameters[each.name]
            fake = stand_in(parameter) if is_number(parameter) else fake_tensor(each, self._declared.is_static, span)
            given[each.name] = fake
        arguments, is_uncached = self._function._bind((), given | self._static, span)
        compiled = self._function.find(arguments, is_uncached, span, {"target": PLATFORM}).compiled
        if compiled.has_results:
            raise OperatorDeclarationError(
                f"{self.__name__} returns a value, which XLA cannot take",
                span=self._span,
                found=compiled._loaded.compiled.lowered.traced.signature,
                expected="a function that writes to its outputs",
                related=called_here(span),
            )
        return compiled

    def _sources(self, compiled: CompiledFunction, bound: Bound) -> list[Source]:
        """Where each argument of the program comes from, in its order."""
        numbers = {each.name for each in self._parameters if is_number(each)}
        given: dict[str, Source] = {}
        inputs = [("input", i, each) for i, each in enumerate(bound.inputs)]
        made = [("output", j, each) for j, each in zip(bound.passed, bound.made, strict=True)]
        for kind, i, each in (*inputs, *made):
            if each.name in numbers:
                given[each.name] = ("number", i)
            else:
                given[each.name] = (kind, i) if each.spec.mode is None else (kind, i, each.spec.mode)
        known = {**defaults_of(self._function.function), **self._static}
        sources: list[Source] = []
        for name, shape in compiled._shapes:
            if name in given:
                sources.append(given[name])
            elif name in self._streams:
                sources += [] if shape.is_nothing else [DEFAULT]
            else:
                sources += [self._number(name, each) for each in shape.flatten(known[name])]
        return sources

    def _number(self, name: str, value: object) -> Source:
        if isinstance(value, bool | float) or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63):
            return value
        raise OperatorDeclarationError(
            f"`{name}` of {self.__name__} cannot be a number of a call",
            span=self._span,
            found=repr(value),
            expected="a bool, a float, or an int of 64 bits with a sign",
            instead=f"`{name}: tt.Constexpr[int]`: then it is part of the program",
        )

    def _check_written(self, compiled: CompiledFunction, bound: Bound, span: Span | None) -> None:
        """Compare what is declared with what the program writes."""
        aliases = self._declared.aliases
        leaves = compiled._loaded.compiled.lowered.traced.parameters
        written = {leaf.path for leaf in leaves if leaf.memory is not None and leaf.memory.written}
        for i, each in enumerate(bound.inputs):
            if each.name in written and i not in aliases:
                raise OperatorDeclarationError(
                    f"the function writes the input `{each.name}`, which shares its memory with no output",
                    span=self._span,
                    found=f"input_output_aliases={dict(aliases)}",
                    expected="inputs that are only read, or an output in the memory of each that is written",
                    instead=f"`input_output_aliases={{{i}: 0}}`, with the output's number for 0",
                    related=called_here(span),
                )
        names = {j: {each.name} for j, each in zip(bound.passed, bound.made, strict=True)}
        for i, j in aliases.items():
            names.setdefault(j, set()).add(bound.inputs[i].name)
        for j, either in names.items():
            if not either & written:
                raise OperatorDeclarationError(
                    f"the function never writes the output `{min(either)}`",
                    span=self._span,
                    found=f"the output {j}, which would be as the memory was before",
                    expected="outputs that the function writes",
                    related=called_here(span),
                )

    # gradients ------------------------------------------------------------------------------------------------------
    def _cotangents(
        self, given: tuple[Value, ...], outputs: Tree, upstream: Tree, span: Span | None
    ) -> tuple[Any, ...]:
        """What `vjp` gives, in the order of the inputs."""
        names, own = self._array_names(len(given), outputs)
        known = dict(zip((*names, *own), (*given, *jax.tree.leaves(outputs)), strict=True))
        known |= {_GRADIENT + name: each for name, each in zip(own, jax.tree.leaves(upstream), strict=True)}
        like = {_GRADIENT + name: array for name, array in zip(names, given, strict=True)}
        vjp: Any = self._declared.vjp
        if isinstance(vjp, JitFunction):
            vjp = self._jitted_vjp(vjp, like)
        takes = _names_of(vjp)
        wanted = [name for name in takes if name not in like] if isinstance(vjp, Call) else takes
        for name in wanted:
            if name not in known:
                raise OperatorDeclarationError(
                    f"the vjp of {self.__name__} takes `{name}`, which the call has not",
                    span=self._span,
                    found=f"`{name}`",
                    expected=", ".join(known),
                    instead=did_you_mean(name, list(known)),
                )
        found = vjp(*(known[name] for name in wanted))
        if isinstance(vjp, Call):
            found = dict(zip([name for name in takes if name in like], jax.tree.leaves(found), strict=True))
        if isinstance(found, Mapping):
            return tuple(found.get(name) for name in like)
        found = tuple(found) if isinstance(found, tuple | list) else (found,)
        if len(found) == len(given):
            return found
        raise OperatorDeclarationError(
            f"the vjp of {self.__name__} gives another number of cotangents than the call has inputs",
            span=self._span,
            found=f"{len(found)} for {len(given)} inputs",
            expected="one for each input, None where there is none; or a dict of them by `grad_` and the names",
            related=called_here(span),
        )

    def _array_names(self, inputs: int, outputs: Tree) -> tuple[list[str], list[str]]:
        """What inputs and outputs are called; an output without a parameter has its input's name with `_out`."""
        count, names = len(jax.tree.leaves(outputs)), [each.name for each in self._parameters]
        shared = {j: f"{names[i]}_out" for i, j in self._declared.aliases.items()}
        if len(names) >= inputs + count:
            shared = {}
        own = iter(names[inputs:])
        return names[:inputs], [shared[j] if j in shared else next(own) for j in range(count)]

    def _jitted_vjp(self, vjp: JitFunction, like: Mapping[str, Value]) -> Call:
        """The call of a `@jit` function that computes cotangents: it writes those of inputs, which are like them."""
        static = {name: each for name, each in self._static.items() if name in inspect.signature(vjp).parameters}
        names = [each.name for each in positional_parameters(vjp, static, self._span)]
        made = [name for name in names if name in like]
        if not made or names[-len(made) :] != made:
            raise OperatorDeclarationError(
                f"the vjp of {self.__name__} computes no cotangent, or has parameters behind one",
                span=self._span,
                found=f"{vjp.__name__}({', '.join(names)})",
                expected=f"last in its signature, what it writes: {', '.join(like)}, or some of them",
            )
        shapes = [jax.ShapeDtypeStruct(like[name].shape, like[name].dtype) for name in made]
        return Call(vjp, Declaration(shapes, {}, is_static=self._declared.is_static), static, self._span)

    def _no_gradient(self, span: Span | None) -> OperatorGradientError:
        return OperatorGradientError(
            f"the call of {self.__name__} has no vjp",
            span=span,
            found=f"a gradient that is asked for through {self.__name__}",
            expected="a function that computes it",
            instead=f"`triptych.jax.call({self.__name__}, ..., vjp=function)`",
        )


def _names_of(function: Callable[..., Any]) -> list[str]:
    """What the parameters of a function, or of a call, are called."""
    if isinstance(function, Call):
        return [each.name for each in function._parameters]
    return list(inspect.signature(function).parameters)


@api_boundary
def call(
    fn: Callable[..., Any],
    /,
    *,
    output_shape_dtype: Tree,
    input_output_aliases: Mapping[int, int] | None = None,
    vjp: Callable[..., Any] | None = None,
    vmap: str | Callable[..., Any] = "sequential",
    input_spec: Specs = None,
    output_spec: Specs = None,
    use_static_tensors: bool = False,
    **static: object,
) -> Call:
    """A function of JAX arrays that runs a `@jit` function: `call(mul, output_shape_dtype=lambda a, b: a)`.

    The parameters of the function are the inputs, then the outputs; `static` are others by name, numbers and
    Constexpr. `output_shape_dtype` is a tree of what has a shape and a type, or a function of the inputs' that gives
    one. `input_output_aliases` says which inputs are outputs: their memory is written. `vjp` is a `@jit` function, a
    call, or a function of arrays: what it takes is named as the parameters are, and `grad_` of outputs; what it makes
    are `grad_` of inputs. `vmap` is "sequential", "expand_dims", "broadcast_all", or a function as
    `jax.custom_batching.custom_vmap` takes it. `input_spec` and `output_spec` are a TensorSpec or None for each array.
    """
    span = caller()
    declared = Declaration(
        output_shape_dtype, input_output_aliases or {}, input_spec, output_spec, use_static_tensors, False, vjp, vmap
    )
    return Call(checked_function(fn, declared, span), declared, static, span)


@api_boundary
def cutlass_call(
    fn: Callable[..., Any],
    *,
    output_shape_dtype: Tree,
    input_spec: Specs = None,
    output_spec: Specs = None,
    input_output_aliases: Mapping[int, int] | None = None,
    allow_cuda_graph: bool = True,
    compile_options: object = None,
    use_static_tensors: bool = False,
    **kwargs: object,
) -> Call:
    """As `call`, for functions whose first parameter is a stream, as the public CuTe DSL has them.

    `allow_cuda_graph` and `compile_options` are about GPUs, which calls do not run on here: they change nothing.
    """
    span = caller()
    declared = Declaration(
        output_shape_dtype, input_output_aliases or {}, input_spec, output_spec, use_static_tensors, True
    )
    return Call(checked_function(fn, declared, span), declared, kwargs, span)


def get_export_disabled_safety_checks() -> list[Any]:
    """What `jax.export.export(..., disabled_checks=...)` has to allow: our calls in what is exported."""
    return [jax.export.DisabledSafetyCheck.custom_call(TARGET)]


def _register() -> None:
    """Let XLA know the handler, also for a process that only runs exported programs."""
    address = load_handler(interface_minor(Path(jax.ffi.include_dir())))
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(ctypes.c_void_p(address)), platform=PLATFORM)


_register()
