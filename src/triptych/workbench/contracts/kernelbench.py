"""Solutions of KernelBench: `ModelNew` beside `Model`, with `get_inputs` and `get_init_inputs`.

Both models are made from the same seed, and the second takes the first one's weights where their names agree.
"""

from __future__ import annotations

import copy
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from triptych.workbench.arrays import torch
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.errors import ContractError

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
            assert spec is not None
            assert spec.loader is not None
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
