"""Loading of kernel files: which format a path has, its module run once, and what it lacks as an error.

Meant for a process of its own (`workbench.processes`): a module may do anything when it is run. Modules of the file's
own folder that it has imported are told, too: a record has to keep them.
"""

from __future__ import annotations

import copy
import functools
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from triptych.compat import activate, imports_public_names
from triptych.cute.tuning.rows import configs_of
from triptych.support.config import config
from triptych.workbench.arrays import torch
from triptych.workbench.contracts import gpu_mode
from triptych.workbench.contracts.contract import Contract, Function, Tolerance, cases_of
from triptych.workbench.devices import HOST, device
from triptych.workbench.errors import ContractError
from triptych.workbench.kernel_files import EXPORTS, kernel_file

# Solutions of KernelBench: `ModelNew` beside `Model`, with `get_inputs` and `get_init_inputs`.
# Both models are made from the same seed, and the second takes the first one's weights where their names agree.

_REFERENCES = ("reference.py", "model.py")
"""Where `Model` is looked for when the solution's file has none."""
_SEED = 42


def is_solution(module: ModuleType) -> bool:
    """Whether a module is written for KernelBench."""
    return hasattr(module, "ModelNew") and not hasattr(module, "kernel_fn")


def read(file: Path, module: ModuleType) -> Contract:
    """The solution as a contract."""
    problem = module if hasattr(module, "Model") else _problem(file)
    initial = problem.get_init_inputs() if hasattr(problem, "get_init_inputs") else []
    reference, solution = _made(problem.Model, initial), _made(module.ModelNew, initial)
    weights = reference.state_dict()
    if weights.keys() == solution.state_dict().keys():
        solution.load_state_dict(weights)
    exact = copy.deepcopy(reference).double()
    without = torch().no_grad()
    return Contract(
        file,
        without(lambda *inputs: solution(*inputs)),
        without(lambda *inputs: reference(*inputs)),
        problem.get_inputs,
        exact=without(lambda *inputs: exact(*inputs)),
        format="KernelBench",
        called=module.ModelNew.__name__,
    )


def _problem(file: Path) -> Any:
    for name in _REFERENCES:
        beside = file.parent / name
        if beside.is_file() and beside != file:
            spec = importlib.util.spec_from_file_location("triptych_problem", beside)
            assert spec is not None, "a path with the suffix .py has a spec"
            assert spec.loader is not None, "a spec of a file has a loader"
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
            if hasattr(module, "Model"):
                return module
    raise ContractError(
        f"{file.name} has ModelNew, but nothing to compare it with",
        expected=f"class Model in the same file, or in {' or '.join(_REFERENCES)} beside it",
    )


def _made(model: Any, initial: Any) -> Any:
    torch().manual_seed(_SEED)
    return model(**initial) if isinstance(initial, dict) else model(*initial)


REQUIRED = tuple(EXPORTS.split(", "))
_FOR_GPUS = "cuda"


def load_contract(path: str | Path, name: str = "triptych_contract") -> Contract:
    """The contract of a file or of a folder of GPU MODE. The file's own folder is first on the path."""
    file = Path(path).resolve()
    if gpu_mode.is_problem(file):
        folder = file if file.is_dir() else file.parent
        _prepare(folder, list(folder.glob("*.py")))
        return gpu_mode.read(folder, file if file.is_file() else folder / gpu_mode.SUBMISSION)
    kernel_file(path, f"a Python file with {EXPORTS}, or a folder with {gpu_mode.TASK}")
    _prepare(file.parent, [file])
    module = load_module(file, name)
    if hasattr(module, "PLAN"):
        made: Contract = module.PLAN.contract(file)
        return made
    if is_solution(module):
        return read(file, module)
    return contract_of(file, module)


def load_module(file: Path, name: str) -> ModuleType:
    """Run a file as a module; it is known by its name, so that what it defines can be found again."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None, "a path with the suffix .py has a spec"
    assert spec.loader is not None, "a spec of a file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _prepare(folder: Path, files: Iterable[Path]) -> None:
    """Programs for the public language, or for a GPU that is not here, run through the compatibility layer."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    texts = [file.read_text(encoding="utf-8") for file in files]
    if any(imports_public_names(text) or _FOR_GPUS in text for text in texts):
        activate()


def contract_of(file: Path, module: ModuleType) -> Contract:
    """What a module exports."""
    missing = [name for name in REQUIRED if not callable(getattr(module, name, None))]
    if missing:
        raise ContractError(
            f"{file.name} has no {' and no '.join(missing)}",
            found=", ".join(name for name in vars(module) if not name.startswith("_")) or "an empty file",
            expected="kernel_fn(*inputs), reference_fn(*inputs) and get_inputs(), or PLAN, a KernelPlan",
            instead=f"def {missing[0]}({'seed=0' if missing[0] == 'get_inputs' else '*inputs'}): ...",
        )
    given = vars(module)
    written = positions(given["kernel_fn"], given.get("OUTPUTS", ()), "OUTPUTS")
    return Contract(
        file,
        given["kernel_fn"],
        given["reference_fn"],
        given["get_inputs"],
        cases_of(given.get("CASES")),
        tolerance_of(given.get("TOLERANCE"), file),
        given.get("error_bound"),
        given.get("check"),
        given.get("algorithmic_flops_bytes"),
        given.get("baseline_fn"),
        positions(given["kernel_fn"], given.get("MUTATES", ())) | written,
        written,
        given.get("REQUIRES", ""),
        **_tuning(given),
    )


def _tuning(given: dict[str, Any]) -> dict[str, Any]:
    """`TUNE`: names with their values, a list of dictionaries, or a function that gives them for a device."""
    tune = given.get("TUNE")
    if not tune:
        return {}
    space = tune(device(config().target or HOST)) if callable(tune) else tune
    problems, job = given.get("config_problems"), given.get("compile_job")
    return {
        "configs": configs_of(space),
        "configured": lambda config: functools.partial(given["kernel_fn"], **config),
        "config_problems": problems and (lambda config, device: problems(device, **config)),
        "job": job and (lambda config, *inputs: job(*inputs, **config)),
        "bucket": given.get("bucket"),
    }


def tolerance_of(given: Any, file: Path) -> Tolerance | None:
    """`TOLERANCE` of a file: one number for both, a pair (rtol, atol), or a dictionary of them."""
    match given:
        case None:
            return None
        case int() | float():
            return Tolerance(float(given), float(given))
        case (rtol, atol):
            return Tolerance(float(rtol), float(atol))
        case {"rtol": rtol, "atol": atol}:
            return Tolerance(float(rtol), float(atol))
    raise ContractError(
        f"TOLERANCE of {file.name} says neither rtol nor atol",
        found=repr(given),
        instead='TOLERANCE = {"rtol": 1e-3, "atol": 1e-5}',
    )


def positions(function: Function, names: Iterable[int | str], what: str = "MUTATES") -> frozenset[int]:
    """Parameters by position, which `MUTATES` or `OUTPUTS` names or counts."""
    parameters = list(inspect.signature(function).parameters)
    names = (names,) if isinstance(names, int | str) else names
    unknown = [name for name in names if isinstance(name, str) and name not in parameters]
    if unknown:
        raise ContractError(
            f"{what} names {unknown[0]!r}, which is no parameter of the kernel",
            found=repr(unknown[0]),
            expected=f"some of {', '.join(parameters)}",
        )
    return frozenset(parameters.index(name) if isinstance(name, str) else name for name in names)


def files_beside(contract: Contract) -> dict[str, str]:
    """Their text, by the path from the folder of the file."""
    folder = contract.file.parent
    files = set(_imported_from(folder))
    if contract.format == gpu_mode.FORMAT:
        files.add(folder / gpu_mode.TASK)
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(files - {contract.file})
    }


def clash(first: Contract, second: Path) -> str:
    """A module that both folders have, and that the first file has imported: the second would get the wrong one."""
    other = second if second.is_dir() else second.parent
    if other.resolve() == first.file.parent:
        return ""
    for name in files_beside(first):
        top = name.partition("/")[0]
        if (other / top).exists():
            return f"both have {top} beside them"
    return ""


def _imported_from(folder: Path) -> Iterator[Path]:
    """Files of modules in the folder, and in packages that are named as folders there.

    What Python imports has a path from the root. Modules that a library makes may say anything: `torch.classes` says
    `_classes.py`, which is in no folder.
    """
    for name, module in list(sys.modules.items()):
        text = getattr(module, "__file__", None)
        if not isinstance(text, str) or not text.endswith(".py") or not os.path.isabs(text) or not os.path.isfile(text):
            continue
        file = Path(text).resolve()
        if file.is_relative_to(folder):
            parts = file.relative_to(folder).parts
            if len(parts) == 1 or parts[0] == name.partition(".")[0]:
                yield file
