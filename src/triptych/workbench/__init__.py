"""Workbench: is a kernel right, how fast is it, which parameters, and why. One file of a user, four questions.

Names load on first use, so that the command line stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triptych.support.lazy_names import LazyNames

if TYPE_CHECKING:
    from triptych.workbench.contracts.contract import Contract as Contract
    from triptych.workbench.contracts.loading import load_contract as load_contract
    from triptych.workbench.devices import Device as Device
    from triptych.workbench.devices import device as device
    from triptych.workbench.devices import device_names as device_names
    from triptych.workbench.plan import CuteKernel as CuteKernel
    from triptych.workbench.plan import KernelPlan as KernelPlan
    from triptych.workbench.tiling import Tiling as Tiling
    from triptych.workbench.tuning.tuned_calls import tuned as tuned
    from triptych.workbench.verification.verifying import main as main
    from triptych.workbench.verification.verifying import verify as verify

_NAMES = LazyNames(
    __name__,
    {
        "triptych.workbench.contracts.contract": "Contract",
        "triptych.workbench.contracts.loading": "load_contract",
        "triptych.workbench.devices": "Device device device_names",
        "triptych.workbench.plan": "CuteKernel KernelPlan",
        "triptych.workbench.tiling": "Tiling",
        "triptych.workbench.tuning.tuned_calls": "tuned",
        "triptych.workbench.verification.verifying": "main verify",
    },
    modules=(),
)

__getattr__ = _NAMES.load
__all__ = sorted(_NAMES.homes)  # noqa: PLE0605 - names, although not written out


def __dir__() -> list[str]:
    return __all__
