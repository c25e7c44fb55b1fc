"""The contract: a kernel, what it should compute, inputs for both, and what else a file may say of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from triptych.support.dataclass import dataclass
from triptych.support.wording import did_you_mean
from triptych.workbench.arrays import arrays_in, mapped, to_float64, torch
from triptych.workbench.errors import ContractError

Function = Callable[..., Any]
BENCH = "bench"
"""The word that marks a case as one for `triptych bench`."""
USUAL = "default"
SEED = "seed"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a result may be off, as `rtol * abs(expected) + atol`."""

    rtol: float
    atol: float


@dataclass(frozen=True, slots=True)
class Contract:
    """What a file exports, whatever its format."""

    file: Path
    kernel: Function
    reference: Function
    get_inputs: Function
    cases: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {USUAL: {}})
    tolerance: Tolerance | None = None
    error_bound: Function | None = None
    check: Function | None = None
    """`check(outputs, expected, inputs)`: more than numbers can say; False or an exception is a failure."""
    work: Function | None = None
    """`algorithmic_flops_bytes(*inputs)`: what any kernel for this must compute and move."""
    baseline: Function | None = None
    mutates: frozenset[int] = frozenset()
    """Inputs that the kernel may change, by position."""
    written: frozenset[int] = frozenset()
    """Those of them that it only writes, whatever they held."""
    requires: str = ""
    exact: Function | None = None
    """The reference in double precision, where float64 inputs alone do not give it."""
    format: str = "contract"
    configs: Sequence[Mapping[str, Any]] = ()
    """Parameters to choose from."""
    configured: Callable[[Mapping[str, Any]], Function] | None = None
    """The kernel with chosen parameters."""
    config_problems: Callable[[Mapping[str, Any], Any], Sequence[str]] | None = None
    """`(config, device)`: why it cannot run there, in sentences, without compiling it."""
    job: Callable[..., Any] | None = None
    """`(config, *inputs)`: its compilation, as `compile_many` takes it."""
    bucket: Function | None = None
    """`(*inputs)`: problems that take the same parameters give the same."""
    called: str = ""
    """What a person calls the kernel, where its function has no name of its own."""

    @property
    def name(self) -> str:
        """Of the kernel, as it is told."""
        return self.called or str(getattr(self.kernel, "__name__", "kernel"))

    def inputs(self, seed: int, case: Mapping[str, Any] | None = None) -> list[Any]:
        """New inputs. A `get_inputs` without a seed draws from the libraries' own generators, which are seeded."""
        np.random.seed(seed)
        if torch() is not None:
            torch().manual_seed(seed)
        given = {name: value for name, value in (case or {}).items() if name != BENCH}
        if takes(self.get_inputs, SEED):
            given[SEED] = seed
        made = self.get_inputs(**given)
        return list(made) if isinstance(made, list | tuple) else [made]

    @property
    def restores(self) -> bool:
        """Whether a second call on the same arguments needs their values back."""
        return bool(self.mutates - self.written)

    def sizes(self) -> dict[str, int]:
        """The extents that `get_inputs` takes, with their defaults."""
        parameters = inspect.signature(self.get_inputs).parameters.values()
        return {p.name: p.default for p in parameters if type(p.default) is int and p.name != SEED}

    def run(self, function: Function, inputs: Sequence[Any]) -> list[Any]:
        """The results of a kernel or a reference: what it returns, else the inputs that it may change."""
        returned = function(*inputs)
        if returned is None:
            return [inputs[i] for i in sorted(self.mutates)]
        return arrays_in(returned)

    def expected_exactly(self, inputs: Sequence[Any]) -> list[Any]:
        """The results of the reference in double precision."""
        return self.run(self.exact or self.reference, mapped(inputs, to_float64))


def takes(function: Function, name: str) -> bool:
    """Whether a function has a parameter of that name, or takes any."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def refuse_unknown_cases(contract: Contract, names: Sequence[str]) -> None:
    """A case that is asked for and that the file does not have."""
    unknown = [name for name in names if name not in contract.cases]
    if unknown:
        raise ContractError(
            f"there is no case {unknown[0]!r}",
            expected=f"one of {', '.join(map(repr, contract.cases))}",
            instead=did_you_mean(unknown[0], contract.cases),
        )


def parameters_of(contract: Contract, case: str) -> Mapping[str, Any]:
    """What `get_inputs` is called with for one case; without a case, its own defaults."""
    if not case:
        return {}
    refuse_unknown_cases(contract, [case])
    return contract.cases[case]


def cases_of(given: object) -> dict[str, Mapping[str, Any]]:
    """`CASES` of a file: named dictionaries, or a list of them, which are named by what they say."""
    if not given:
        return {USUAL: {}}
    if isinstance(given, Mapping) and all(isinstance(case, Mapping) for case in given.values()):
        return {str(name): dict(case) for name, case in given.items()}
    if not isinstance(given, Sequence) or not all(isinstance(case, Mapping) for case in given):
        raise ContractError(
            "the cases of a kernel file cannot be read",
            found=f"CASES = {given!r}"[:80],
            expected="a dictionary of named dictionaries, or a list of dictionaries",
            instead='`CASES = {"small": {"n": 64}}`',
        )
    return {", ".join(f"{key}={value}" for key, value in case.items() if key != BENCH): dict(case) for case in given}


def bench_cases(contract: Contract) -> dict[str, Mapping[str, Any]]:
    """Those that are marked for measuring; all, if none is."""
    marked = {name: case for name, case in contract.cases.items() if case.get(BENCH)}
    return marked or dict(contract.cases)
