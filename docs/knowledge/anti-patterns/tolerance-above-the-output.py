"""Evidence: which wrong versions of a kernel comparisons accept, counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np

from triptych.workbench import Contract, verify
from triptych.workbench.knowledge.evidence import Rows
from triptych.workbench.verification.verifying import VerifyOptions


def counted(page: ModuleType) -> Rows:
    """The right kernel, one that skips elements, and one of zeros."""
    versions: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "right": page.kernel_fn,
        "skips every second element": lambda x: page.kernel_fn(x, skips=True),
        "zeros": np.zeros_like,
    }
    x = page.get_inputs()[0]
    rows: Rows = []
    for name, kernel in versions.items():
        contract = Contract(Path(str(page.__file__)), kernel, page.reference_fn, page.get_inputs)
        is_verified = verify(contract, VerifyOptions(seeds=1)).verdict == "pass"
        is_close = np.allclose(kernel(x), page.reference_fn(x), rtol=0, atol=1e-2)
        rows.append(
            {
                "version": name,
                "`allclose`, atol=1e-2": "accepted" if is_close else "refused",
                "`triptych verify`": "accepted" if is_verified else "refused",
            }
        )
    return rows
