"""Which parameters a run takes: those that somebody has tuned for the same kernel, problem, device and tools.

A run never tunes unless it is asked to, by `autotune=True` or by `TRIPTYCH_TUNE=1`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.cute.tuning.choices import Choice, Problem, find_choice, host_name, keep, tool_versions
from triptych.cute.tuning.rows import Row
from triptych.support.config import config
from triptych.workbench.arrays import dtype_name, is_array
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.devices.device import HOST, Device, device
from triptych.workbench.tuning.kernel_digests import kernel_digest


def problem_of(file: Path, bucket: object, target: Device) -> Problem:
    """What a choice is for."""
    where = host_name() if target.architecture == HOST else target.architecture
    return Problem(kernel_digest(file), text_of(bucket), where, tool_versions())


def bucket_of(contract: Contract, inputs: Sequence[Any]) -> object:
    """What the file itself says (`bucket(*inputs)`, a plan's `buckets`), else shapes, types and numbers as they are."""
    return contract.bucket(*inputs) if contract.bucket is not None else [described(value) for value in inputs]


def keep_choice(contract: Contract, inputs: Sequence[Any], target: Device, row: Row) -> dict[str, Any]:
    """Keep the winner for later runs of this user; as plain data, for the source tree."""
    key = problem_of(contract.file, bucket_of(contract, inputs), target)
    choice = Choice(contract.file.stem, key, dict(row.config), row.best)
    keep(choice)
    return asdict(choice)


def chosen_for(file: Path, bucket: object) -> dict[str, Any] | None:
    """The parameters that are kept for a problem on the target that calls run on; None: nobody has tuned it."""
    found = find_choice(problem_of(file, bucket, device(config().target or HOST)), file)
    return None if found is None else dict(found.config)


def text_of(bucket: object) -> str:
    """The same for equal buckets, in any process."""
    return json.dumps(bucket, sort_keys=True, default=str)


def described(value: object) -> object:
    """An input as far as it decides which parameters are best."""
    if is_array(value):
        array: Any = value
        return f"{dtype_name(array)} {' x '.join(map(str, array.shape))}"
    if isinstance(value, list | tuple):
        return [described(part) for part in value]
    if isinstance(value, dict):
        return {str(name): described(part) for name, part in value.items()}
    return value if isinstance(value, bool | int | float | str | None) else type(value).__qualname__
