"""Operators of PyTorch made of `@jit` functions: schema, results, fake kernel, gradients and batches.

Input: a function and what a schema cannot be guessed from. Output: an operator that PyTorch's dispatcher knows, so that
`torch.compile`, `torch.export`, autograd and `vmap` treat it as one of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, TypeAlias, TypeVar

from triptych.compat.torch import current_stream, torch
from triptych.diagnostics.tensor_errors import OperatorDeclarationError, OperatorGradientError
from triptych.driver.boundary import api_boundary
from triptych.driver.compiling import CompiledFunction
from triptych.driver.jitting import Entry, JitFunction, KernelFunction
from triptych.frameworks.operator_borders import (
    check_made,
    check_no_tangent,
    check_returns,
    guard_written,
    without_memory,
)
from triptych.frameworks.operator_signatures import (
    TENSORS,
    Allocation,
    OperatorSignature,
    check_signature,
    operator_parameters,
)
from triptych.interop.torch_tensors import lacks_memory
from triptych.support.source import Span
from triptych.support.tracebacks import caller
from triptych.support.wording import with_article

from torch._functorch.utils import enable_single_level_autograd_function  # isort: skip - after the error without torch

_DEVICES = ("CPU", "CUDA")
_TAGS = ("pt2_compliant_tag", "needs_exact_strides")
_GRADIENT = "grad_"
"""What a gradient is called: `grad_` and the name of the parameter or of the result."""
_LIBRARIES: dict[str, Any] = {}
"""Of each operator, what keeps it registered."""


_F = TypeVar("_F", bound=Callable[..., Any])
Value: TypeAlias = Any
"""A tensor of torch, which has no types here, or a number; or an object of torch's own."""


def _without_graph(function: _F) -> _F:
    """Let `torch.compile` end its graph at calls of a function; with `fullgraph=True` it says why it cannot."""
    marked: Any = function
    marked._torchdynamo_disable = True
    marked._torchdynamo_disable_msg = (
        "the first call of an operator of Triptych finds which tensors it writes; "
        'name them: `triptych.torch.op(..., mutates=("c",))`, or call it once before'
    )
    return function


class OperatorFunction(JitFunction):
    """The function of an operator: what a specialization writes is compared with the schema before it runs."""

    def __init__(self, function: JitFunction, judge: Callable[[CompiledFunction], None]) -> None:
        self._judge = judge
        options = {**function._options, "contract": function._contract}
        super().__init__(function.function, function.language, function._preprocessor, options)

    def _entry(self, *asked: Value) -> Entry:
        entry = super()._entry(*asked)
        self._judge(entry.compiled)
        return entry


class Operator:
    """An operator of PyTorch that runs a compiled function. `default` is what `torch.ops` has of that name."""

    def __init__(
        self,
        function: JitFunction,
        name: str,
        results: Mapping[str, Allocation],
        mutates: Sequence[str] | None,
        library: object,
        span: Span | None,
    ) -> None:
        namespace, separator, short = name.partition("::")
        if not separator or not namespace.isidentifier() or not short.isidentifier():
            raise OperatorDeclarationError(
                "this is no name of an operator",
                span=span,
                found=repr(name),
                expected="a namespace and a name: `mylib::mul`",
            )
        self.name = name
        self.origin = function
        self.default: Any = None
        """The operator as PyTorch has it; None until it is known what the function writes."""
        self._library: Any = library or _library(name)
        self._run: Callable[..., Any]
        self._span = span
        self._function = OperatorFunction(function, self._check_written)
        self._on_definition: list[Callable[[], None]] = []
        written = tuple(mutates or ())
        self._signature = OperatorSignature(short, operator_parameters(function, span), dict(results), written)
        check_signature(self._signature, span)
        if results or mutates is not None:
            self._define()

    def __repr__(self) -> str:
        return f"<operator {self.schema}>"

    @property
    def schema(self) -> str:
        """What PyTorch is told: parameters, which of them are written, and results."""
        return f"{self.name.partition('::')[0]}::{self._signature.schema}"

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self.default is None:
            self._find_written(args, kwargs)
        return self.default(*args, **kwargs)

    # definition ---------------------------------------------------------------------------------------------------
    def when_defined(self, register: Callable[[], None]) -> None:
        """Call a function once PyTorch has the operator: now, or after the first call has told what is written."""
        if self.default is None:
            self._on_definition.append(register)
        else:
            register()

    def _define(self) -> None:
        signature, library = self._signature, self._library
        tags = [tag for name, tag in torch.Tag.__members__.items() if name in _TAGS]
        library.define(signature.schema, tags=tags)
        self._run, fake = self._kernels()
        for device in _DEVICES:
            library.impl(signature.name, self._run, device)
        torch.library.register_fake(self.name, without_memory(self.name, fake), lib=library)
        namespace, _, short = self.name.partition("::")
        self.default = getattr(getattr(torch.ops, namespace), short).default
        if signature.written:
            guard_written(library, self.name, signature, self.default)
        for register in self._on_definition:
            register()

    @_without_graph
    @api_boundary
    def _find_written(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Compile for the first call's arguments: then it is known which of them the function writes."""
        named = self._named(args) | kwargs
        named |= {each.name: current_stream() for each in self._signature.parameters if not each.kind}
        described = {name: _described(value) for name, value in named.items() if value is not inspect.Parameter.empty}
        found = _written(JitFunction.compile(self._function, **described))
        mutable = tuple(each.name for each in self._signature.given if each.name in found)
        old = self._signature
        self._signature = OperatorSignature(old.name, old.parameters, old.results, mutable)
        self._define()

    def _check_written(self, compiled: CompiledFunction) -> None:
        check_returns(self.name, compiled.has_results, self._span)
        if self.default is None:
            return
        signature, found = self._signature, _written(compiled)
        unsaid = sorted(found - {*signature.written, *signature.results})
        if unsaid:
            raise OperatorDeclarationError(
                f"the function writes `{unsaid[0]}`, and the schema says that it does not",
                span=self._span,
                found=self.schema,
                expected=f"a schema in which `{unsaid[0]}` is written, or a result",
                instead=f"`mutates={(*signature.written, *unsaid)!r}`",
            )
        unwritten = [name for name in signature.results if name not in found]
        if unwritten:
            raise OperatorDeclarationError(
                f"the function never writes the result `{unwritten[0]}`",
                span=self._span,
                found=self.schema,
                expected="results that the function writes",
            )

    # calls ----------------------------------------------------------------------------------------------------------
    def _kernels(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """What runs for tensors with memory, and what answers for those without: both make results in the same way.

        As text, which Python compiles once: walking over the signature would cost more than the call.
        """
        signature = self._signature
        names: dict[str, Any] = {"_like": _like, "_stream": current_stream, "_call": self._call_untraced()}
        head = []
        for each in signature.given:
            names[f"_{each.name}"] = each.default
            head.append(each.name if each.default is inspect.Parameter.empty else f"{each.name}=_{each.name}")
        lines = []
        for name, allocation in signature.results.items():
            if isinstance(allocation, str):
                lines.append(f"{name} = _like({allocation})")
                continue
            names[f"_make_{name}"] = partial(self._made, name, allocation)
            wanted = ", ".join(f"{each}={each}" for each in inspect.signature(allocation).parameters)
            lines.append(f"{name} = _make_{name}({wanted})")
        call = ", ".join(each.name if each.kind else "_stream()" for each in signature.parameters)
        end = f"return {', '.join(signature.results)}"
        for name, body in (("run", [*lines, f"_call({call})", end]), ("fake", [*lines, end])):
            exec(f"def {name}({', '.join(head)}):\n    " + "\n    ".join(body), names)
        return names["run"], names["fake"]

    def _made(self, name: str, allocation: Callable[..., Any], **given: Value) -> Any:
        """A result by a function of parameters."""
        made = allocation(**given)
        check_made(name, self.name, made, given, self._span)
        return made

    def _call_untraced(self) -> Callable[..., None]:
        """The function where nobody records: `torch.jit.trace` has recorded the operator, and minds nothing inside."""
        function, tracer, set_tracer = self._function, torch._C._get_tracing_state, torch._C._set_tracing_state

        def call(*args: Value) -> None:
            recorder = tracer()
            if recorder is None:
                function(*args)
                return
            set_tracer(None)
            try:
                function(*args)
            finally:
                set_tracer(recorder)

        return call

    def _named(self, args: Sequence[Value]) -> dict[str, Any]:
        """The arguments by name; the dispatcher leaves the last ones out that are defaults."""
        given = self._signature.given
        return {each.name: args[i] if i < len(args) else each.default for i, each in enumerate(given)}

    # gradients ------------------------------------------------------------------------------------------------------
    def differentiate(self, backward: Operator | Callable[..., Mapping[str, Any]] | None) -> None:
        """Register what computes gradients: its parameters are named as this operator's, its results, and `grad_` of
        its results; what it returns are `grad_` of parameters."""
        signature = self._signature
        if signature.written or not signature.results:
            return
        if backward is None:
            self._follow(lambda ctx, inputs, output: None, self._refuse_gradient)
            return
        wanted = self._wanted(backward)
        names = [each.name for each in signature.given]
        results = list(signature.results)

        def keep(ctx: Value, inputs: tuple[Value, ...], output: Value) -> None:
            outputs = output if isinstance(output, tuple) else (output,)
            known = self._named(inputs) | dict(zip(results, outputs, strict=True))
            saved = {name: known[name] for name in wanted if name in known}
            ctx.names = [name for name, value in saved.items() if isinstance(value, torch.Tensor)]
            ctx.numbers = {name: value for name, value in saved.items() if name not in ctx.names}
            ctx.save_for_backward(*(saved[name] for name in ctx.names))

        def derive(ctx: Value, *upstream: Value) -> tuple[Any, ...]:
            known = ctx.numbers | dict(zip(ctx.names, ctx.saved_tensors, strict=True))
            known |= {_GRADIENT + name: each.contiguous() for name, each in zip(results, upstream, strict=True)}
            found = backward(**{name: known[name] for name in wanted})
            if isinstance(backward, Operator):
                values = found if isinstance(found, tuple) else (found,)
                found = dict(zip(backward._signature.results, values, strict=True))
            return tuple(found.get(_GRADIENT + name) for name in names)

        self._follow(keep, derive)

    def _follow(self, keep: Callable[..., None], derive: Callable[..., Any]) -> None:
        """Put a node into autograd's graph where a gradient is followed; elsewhere only go on to the kernel.

        `torch.library.register_autograd` does the same, and takes 40 us for a call without a gradient.
        """
        redispatch, below = self.default.redispatch, torch._C._after_autograd_keyset
        is_followed, without_autograd = torch.is_grad_enabled, torch._C._AutoDispatchBelowAutograd

        class Node(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
            @staticmethod
            def forward(ctx: Value, keys: Value, *args: Value) -> Any:
                with without_autograd():
                    output = redispatch(keys & below, *args)
                keep(ctx, args, output)
                return output

            @staticmethod
            def backward(ctx: Value, *upstream: Value) -> Any:
                return None, *derive(ctx, *upstream)

        Node.__name__ = Node.__qualname__ = f"{self.name}_backward"

        above: Any = super(torch.autograd.Function, Node)
        apply = above.apply  # its own asks for rules that transforms need elsewhere
        run, plain, single_level = self._run, _plain_keys(), enable_single_level_autograd_function
        operator, parameters = self.name, [each.name for each in self._signature.given]
        tensors = tuple(i for i, each in enumerate(self._signature.given) if each.kind in TENSORS)

        def follow(keys: Value, *args: Value) -> Any:
            if is_followed():
                for i in tensors:  # the last ones may be left out, which are None then
                    if i < len(args) and args[i] is not None and args[i].requires_grad:
                        check_no_tangent(operator, parameters, args)
                        with single_level():  # a transform of `torch.func` comes here once for each of its levels
                            return apply(keys, *args)
            check_no_tangent(operator, parameters, args)
            keys = keys & below
            return run(*args) if keys.raw_repr() in plain else redispatch(keys, *args)

        self._library.impl(self._signature.name, follow, "Autograd", with_keyset=True)

    def _wanted(self, backward: Operator | Callable[..., Any]) -> list[str]:
        """The names that a backward function takes."""
        if isinstance(backward, Operator):
            wanted = [each.name for each in backward._signature.given]
        else:
            wanted = list(inspect.signature(backward).parameters)
        known = [each.name for each in self._signature.given]
        known += [*self._signature.results, *(_GRADIENT + name for name in self._signature.results)]
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise OperatorDeclarationError(
                f"the backward function of {self.name} takes `{unknown[0]}`, which the operator has not",
                span=self._span,
                found=f"`{unknown[0]}`",
                expected=", ".join(known),
            )
        return wanted

    def _refuse_gradient(self, *_: object) -> None:
        raise OperatorGradientError(
            f"the operator {self.name} has no backward function",
            span=self._span,
            found=f"a gradient that is asked for through {self.name}",
            expected="a function that computes it",
            instead=f'`triptych.torch.op(..., "{self.name}", ..., backward=function)`',
        )

    # batches --------------------------------------------------------------------------------------------------------
    def batch(self, rule: str | Callable[..., Any]) -> None:
        """Register what `torch.vmap` does: a call for each element of the batch, or a function as torch takes it."""
        torch.library.register_vmap(self.name, self._each if rule == "loop" else rule, lib=self._library)

    def _each(self, info: Value, in_dims: tuple[int | None, ...], *args: Value) -> Any:
        names = [each.name for each in self._signature.given]
        shared = [
            name for name, dim in zip(names, in_dims, strict=True) if name in self._signature.written and dim is None
        ]
        if shared and any(dim is not None for dim in in_dims):
            raise OperatorDeclarationError(
                f"each element of the batch would write all of `{shared[0]}`",
                span=caller(),
                found=f"torch.vmap without a batch of `{shared[0]}`, which {self.name} writes",
                expected=f"a batch of `{shared[0]}`, too",
            )
        found = []
        for i in range(info.batch_size):
            one = (arg if dim is None else arg.select(dim, i) for arg, dim in zip(args, in_dims, strict=True))
            made = self.default(*one)
            found.append(made if isinstance(made, tuple) else (made,))
        count = len(self._signature.results)
        if not count:
            return None, None
        stacked = tuple(torch.stack(column) for column in zip(*found, strict=True))
        return (stacked[0], 0) if count == 1 else (stacked, (0,) * count)


@api_boundary
def op(
    function: Callable[..., Any],
    name: str,
    *,
    out: Mapping[str, Allocation] | None = None,
    mutates: Sequence[str] | None = None,
    backward: object = None,
    vmap: str | Callable[..., Any] = "loop",
    library: object = None,
) -> Operator:
    """An operator of PyTorch that runs a `@jit` function: `op(mul, "mylib::mul", out={"c": "a"})`.

    `out` says which tensors the operator makes and returns, and how: like the parameter of that name, or as a function
    of parameters returns them, which is asked with fake tensors, too. Tensors of calls that the function writes are
    found at the first call, or named by `mutates`. `backward` is a `@jit` function, an operator, or a function that
    returns a dict; `vmap` is "loop" or a function as `torch.library.register_vmap` takes it; `library` is a
    `torch.library.Library` that exists.
    """
    span = caller()
    jitted = _jitted(function, span)
    made = Operator(jitted, name, out or {}, mutates, library, span)
    if backward is not None and (made._signature.written or not made._signature.results):
        raise OperatorDeclarationError(
            "PyTorch has gradients of operators that only make new tensors",
            span=span,
            found=f"a backward function of {name}, which writes tensors that a call gives",
            expected="`out`, and no `mutates`",
        )
    if isinstance(backward, JitFunction):
        backward = _backward_operator(made, backward, name, library, span)
    if backward is not None and not callable(backward):
        raise OperatorDeclarationError(
            "this computes no gradients",
            span=span,
            found=with_article(type(backward).__name__),
            expected="a `@jit` function, an operator, or a function that returns a dict",
        )
    made.when_defined(partial(made.differentiate, backward))
    made.when_defined(partial(made.batch, vmap))
    return made


def _backward_operator(
    made: Operator, backward: JitFunction, name: str, library: object, span: Span | None
) -> Operator:
    """The operator of a backward `@jit` function: gradients of parameters are what it makes.

    A gradient is like its parameter; where the function does not take that, like the gradient of a result that is.
    """
    inputs = [each.name for each in made._signature.given]
    parameters = [each.name for each in operator_parameters(backward, span)]
    like = {allocation: _GRADIENT + name for name, allocation in made._signature.results.items()}
    gradients = {
        _GRADIENT + each: each if each in parameters else like.get(each, each)
        for each in inputs
        if _GRADIENT + each in parameters
    }
    if not gradients:
        raise OperatorDeclarationError(
            f"the backward function of {name} computes no gradient",
            span=span,
            found=", ".join(parameters),
            expected=f"parameters such as `{_GRADIENT}{inputs[0]}`, which it writes",
        )
    derived = Operator(backward, f"{name}_backward", gradients, None, library, span)
    derived.differentiate(None)  # a second derivative is an error
    derived.batch("loop")
    return derived


def _jitted(function: Callable[..., Any], span: Span | None) -> JitFunction:
    if isinstance(function, JitFunction) and not isinstance(function, KernelFunction):
        return function
    raise OperatorDeclarationError(
        "an operator is made of a `@jit` function",
        span=span,
        found="a `@kernel` function" if isinstance(function, KernelFunction) else with_article(type(function).__name__),
        expected="a `@jit` function, which launches kernels",
        instead="`@triptych.jit` in front of it",
    )


def _library(name: str) -> Any:
    """A library for one operator. Who defines it again, as in a cell of a notebook, gets the new one."""
    before = _LIBRARIES.pop(name, None)
    if before is not None:
        before._destroy()
    _LIBRARIES[name] = torch.library.Library(name.partition("::")[0], "FRAGMENT")
    return _LIBRARIES[name]


@cache
def _plain_keys() -> frozenset[int]:
    """What is left below autograd for tensors in the CPU's memory that nobody else intercepts."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    return frozenset((keys.raw_repr(), keys.add(torch._C.DispatchKey.ADInplaceOrView).raw_repr()))


def _like(tensor: Value) -> Any:
    """A new tensor with the shape, the type and the order of strides of another one, and no gaps.

    `torch.empty_like` gives modes of one element other strides where tensors have memory than where they have none.
    """
    if tensor.is_contiguous():
        return torch.empty_like(tensor, memory_format=torch.contiguous_format)
    strides, step = [0] * tensor.dim(), 1
    for mode in sorted(range(tensor.dim()), key=lambda mode: (tensor.stride(mode), -mode)):
        strides[mode] = step
        step = step * tensor.size(mode)
    return tensor.new_empty_strided(tensor.size(), strides)


def _described(value: Value) -> Any:
    """What a function can be compiled for: of a tensor without memory, its numbers."""
    if isinstance(value, torch.Tensor) and lacks_memory(value):
        return torch.empty_strided(
            [int(n) for n in value.shape], [int(n) for n in value.stride()], dtype=value.dtype, device="meta"
        )
    return value


def _written(compiled: CompiledFunction) -> set[str]:
    """The parameters whose memory a compiled function writes."""
    leaves = compiled._loaded.compiled.lowered.traced.parameters
    return {leaf.path.partition(".")[0] for leaf in leaves if leaf.memory is not None and leaf.memory.written}
