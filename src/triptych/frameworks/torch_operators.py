"""Operators of PyTorch made of `@jit` functions: schema, results, fake kernel, gradients and batches.

Input: a function and what a schema cannot be guessed from. Output: an operator that PyTorch's dispatcher knows, so that
`torch.compile`, `torch.export`, autograd and `vmap` treat it as one of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from triptych.compat.torch import current_stream, torch
from triptych.diagnostics.tensor_errors import OperatorDeclarationError
from triptych.driver.boundary import api_boundary, for_user
from triptych.driver.compiling import CompiledFunction
from triptych.driver.jitting import Entry, JitFunction, KernelFunction
from triptych.frameworks.native_operators import NativeOperator, form_of, native_operator, take_failure
from triptych.frameworks.operator_borders import check_returns, resolve_lazy, unfollowed, without_memory
from triptych.frameworks.operator_gradients import GRADIENT, Backward, check_taken, following
from triptych.frameworks.operator_results import kernels
from triptych.frameworks.operator_signatures import (
    SYMBOLIC,
    Allocation,
    OperatorSignature,
    check_signature,
    operator_parameters,
)
from triptych.interop.torch_tensors import lacks_memory
from triptych.support.source import Span
from triptych.support.tracebacks import caller
from triptych.support.wording import with_article

_TAGS = ("pt2_compliant_tag", "needs_exact_strides")
_LIBRARIES: dict[str, Any] = {}
"""Of each operator, what keeps it registered."""
_NATIVE: dict[str, NativeOperator] = {}
"""Of each operator, its kernels in machine code."""


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
        self.native: NativeOperator | None = None
        options = {**function._options, "contract": function._contract}
        super().__init__(function.function, function.language, function._preprocessor, options)

    def _entry(self, *asked: Value) -> Entry:
        entry = super()._entry(*asked)
        self._judge(entry.compiled)
        return entry

    def _remember(self, args: Value, kwargs: Value, bound: dict[str, Any], entry: Entry) -> None:
        """The dispatcher's kernel calls the specialization from now on; else Python does."""
        if self.native is None or not self.native.add(entry):
            super()._remember(args, kwargs, bound, entry)


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
        self._dispatched: Any = None
        """The same as the dispatcher's own function."""
        self._library: Any = library or _library(name)
        self._run: Callable[..., Any]
        self._fake: Callable[..., Any]
        self.backward: Backward | None = None
        """What computes its gradients."""
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
        if torch.compiler.is_dynamo_compiling():
            return self.default(*args, **kwargs)
        try:
            return self._dispatched(*args, **kwargs)
        except RuntimeError as reported:
            error = take_failure(reported)
            if isinstance(error, Exception):  # an interrupt is shown as it came
                for_user(error)
            raise error from None

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
        self._run, fake = kernels(self.name, signature, self._call_untraced(), self._span)
        namespace = self.name.partition("::")[0]
        native = self._native()
        library.impl(signature.name, self._run, "CUDA")
        if native is None:
            library.impl(signature.name, self._run, "CPU")
        else:
            native.register(namespace, self._run)
        self._function.native = native
        self._fake = fake
        torch.library.register_fake(self.name, without_memory(self.name, fake), lib=library)
        self.default = operator_of(self.name)
        self._dispatched = self.default._op
        if signature.written:
            self._register_autograd(unfollowed(self.name, signature, self._dispatched))
            resolve_lazy(library, self.name, signature, self._dispatched)
        for register in self._on_definition:
            register()

    def _native(self) -> NativeOperator | None:
        """Kernels that run without Python, where the signature and PyTorch allow it."""
        before = _NATIVE.pop(self.name, None)
        if before is not None:
            before.unregister()
        form = form_of(self._signature, self.static)
        made = None if form is None else native_operator(form)
        if made is not None:
            _NATIVE[self.name] = made
        return made

    # compilation ----------------------------------------------------------------------------------------------------
    @property
    def signature(self) -> OperatorSignature:
        """Parameters, results, and what is written."""
        return self._signature

    @property
    def static(self) -> Mapping[str, bool]:
        """The parameters that the function takes, and whether they select a specialization."""
        return {each.name: each.static for each in self._function._parameters}

    def compiled(self) -> Iterator[tuple[CompiledFunction, tuple[Any, ...]]]:
        """The specializations that there are now, with the values of their static parameters."""
        for entry in self._function._entries.values():
            if entry.guard():
                yield entry.compiled, entry.static

    @_without_graph
    @api_boundary
    def compile(self, *args: object, **kwargs: object) -> CompiledFunction:
        """Compile for arguments like these without running; tensors may be without memory, on the device `meta`."""
        if self.default is None:
            self._find_written(args, kwargs)
        named = {name: _described(value) for name, value in (self._named(args) | kwargs).items()}
        made = self._fake(**named)
        named |= zip(self._signature.results, made if isinstance(made, tuple) else (made,), strict=False)
        return JitFunction.compile(self._function, **named, **self._streams())

    @_without_graph
    @api_boundary
    def _find_written(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Compile for the first call's arguments: then it is known which of them the function writes."""
        named = self._named(args) | kwargs | self._streams()
        described = {name: _described(value) for name, value in named.items() if value is not inspect.Parameter.empty}
        found = _written(JitFunction.compile(self._function, **described))
        mutable = tuple(each.name for each in self._signature.given if each.name in found)
        old = self._signature
        self._signature = OperatorSignature(old.name, old.parameters, old.results, mutable)
        self._define()

    def _streams(self) -> dict[str, Any]:
        """The current stream for each parameter that is one."""
        return {each.name: current_stream() for each in self._signature.parameters if not each.kind}

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
    def _call_untraced(self) -> Callable[..., None]:
        """The function where nobody records: `torch.jit.trace` has recorded the operator, and minds nothing inside."""
        function, tracer, set_tracer = self._function, torch._C._get_tracing_state, torch._C._set_tracing_state

        def call(*args: Value, **named: Value) -> None:
            recorder = tracer()
            if recorder is None:
                function(*args, **named)
                return
            set_tracer(None)
            try:
                function(*args, **named)
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
        if not self._signature.is_differentiable:
            return
        if backward is not None:
            of_operator = backward._signature if isinstance(backward, Operator) else None
            takes = [e.name for e in of_operator.given] if of_operator else [*inspect.signature(backward).parameters]
            check_taken(self.name, self._signature, takes, self._span)
            self.backward = Backward(backward, takes, None if of_operator is None else list(of_operator.results))
        self._register_autograd(following(self.name, self._signature, self._dispatched, self.backward, self._span))

    def _register_autograd(self, follow: Callable[..., Any]) -> None:
        """What runs where autograd, a tracer or a transform has a business with the tensors of a call."""
        native = self._function.native
        is_symbolic = any(each.kind == SYMBOLIC for each in self._signature.given)
        if native is None or is_symbolic:  # a kernel in machine code would be asked with one value of the number
            self._library.impl(self._signature.name, follow, "Autograd")
        else:
            native.register_autograd(self.name.partition("::")[0], follow)

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
    if backward is not None and not made._signature.is_differentiable:
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
    like = {allocation: GRADIENT + name for name, allocation in made._signature.results.items()}
    gradients = {
        GRADIENT + each: each if each in parameters else like.get(each, each)
        for each in inputs
        if GRADIENT + each in parameters
    }
    if not gradients:
        raise OperatorDeclarationError(
            f"the backward function of {name} computes no gradient",
            span=span,
            found=", ".join(parameters),
            expected=f"parameters such as `{GRADIENT}{inputs[0]}`, which it writes",
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


def operator_of(name: str) -> Any:
    """What `torch.ops` has of a name."""
    namespace, _, short = name.partition("::")
    return getattr(getattr(torch.ops, namespace), short).default


def _library(name: str) -> Any:
    """A library for one operator. Who defines it again, as in a cell of a notebook, gets the new one."""
    before = _LIBRARIES.pop(name, None)
    if before is not None:
        before._destroy()
    _LIBRARIES[name] = torch.library.Library(name.partition("::")[0], "FRAGMENT")
    return _LIBRARIES[name]


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
