"""`triptych check --costs FILE[:FUNCTION]`: some blocks of each launch run on the PTX simulator, which counts.

A contract file runs its kernel on inputs of its own, a function takes arguments, any other file runs as a script does.
Exit codes: 0 counted, 1 an error of the program, 2 a request that cannot be met.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path

from triptych.ptxsim.clusters import StuckError
from triptych.ptxsim.counting import CountedLaunch
from triptych.ptxsim.memory import AccessError
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import in_one_line
from triptych.support.wording import did_you_mean
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.workbench.commands.check import CostRequest
from triptych.workbench.commands.checked_program import program_of
from triptych.workbench.commands.show import ShowError
from triptych.workbench.contracts.contract import parameters_of
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.costs.pictures import write_pictures
from triptych.workbench.costs.report import facts, listing
from triptych.workbench.costs.simulation import CostRun, counted
from triptych.workbench.costs.table import occupancy_table

_CONTRACT = ("kernel_fn", "PLAN")
_ALL = "all"


def check_costs(request: CostRequest) -> int:
    """Run and print."""
    if request.arch not in ARCHITECTURES:
        raise ShowError(
            f"there is no architecture {request.arch!r}",
            found=request.arch,
            expected=f"one of {', '.join(ARCHITECTURES)}",
            instead=did_you_mean(request.arch, list(ARCHITECTURES)),
        )
    ended_by = ""
    with counted(request.arch, _choice(request.blocks), keeps_requests=bool(request.svg)) as run:
        try:
            with redirect_stdout(sys.stderr):
                _run_of(request)()
        except (TriptychError, StuckError, AccessError):
            raise
        except (Exception, SystemExit) as error:  # of a program whose results are not whole
            if not run.counting.launches:
                raise
            ended_by = in_one_line(error)
    if not run.counting.launches:
        raise ShowError(
            f"{request.place} launched no kernel",
            expected="a function that launches one, a script that calls it, or a kernel file",
        )
    pictures = [path for each in run.counting.launches for path in _pictures(each, request)]
    if request.json:
        print(json.dumps(facts(run, ended_by), indent=2))
    else:
        print(_text(run, ended_by))
        print(*(f"picture: {path}" for path in pictures), sep="\n", end="\n" if pictures else "")
    return 0


def _pictures(launch: CountedLaunch, request: CostRequest) -> list[Path]:
    return write_pictures(launch, Path(request.svg)) if request.svg else []


def _text(run: CostRun, ended_by: str) -> str:
    usage = run.usage()
    parts = [f"{listing(each)}\n\n{occupancy_table(each, usage)}" for each in run.counting.launches]
    if ended_by:
        parts.append(f"then the program ended with {ended_by}; some blocks alone do not compute its results")
    return "\n\n".join(parts)


def _choice(blocks: str) -> Callable[[int], Sequence[int]]:
    """Which of so many clusters run: the first, the last, and some between, evenly."""
    if blocks == _ALL:
        return range
    if not blocks.isdigit() or int(blocks) < 1:
        raise ShowError(
            "--blocks says how many blocks run", found=blocks, expected="a number, or 'all'", instead="--blocks 5"
        )
    wanted = int(blocks)

    def choose(number: int) -> list[int]:
        if number <= wanted:
            return list(range(number))
        return sorted({round(i * (number - 1) / max(wanted - 1, 1)) for i in range(wanted)})

    return choose


def _run_of(request: CostRequest) -> Callable[[], object]:
    file = Path(request.place)
    if file.suffix != ".py" or not file.is_file() or not _is_contract(file):
        if request.case:
            raise ShowError("only kernel files have cases", found=request.place, expected="a file with kernel_fn")
        return program_of(request.place, request.args, request.arguments, cutlass=request.cutlass)
    contract = load_contract(file)
    inputs = contract.inputs(0, parameters_of(contract, request.case))
    return lambda: contract.run(contract.kernel, inputs)


def _is_contract(file: Path) -> bool:
    """Whether a file defines what contracts begin with, without running it."""
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    targets = (target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets)
    return bool({*_CONTRACT} & {*functions, *(each.id for each in targets if isinstance(each, ast.Name))})
