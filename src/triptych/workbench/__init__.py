"""Workbench: is a kernel right, how fast is it, which parameters, and why. One file of a user, four questions.

Names load on first use, so that the command line stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triptych.support.lazy_names import LazyNames

if TYPE_CHECKING:
    from triptych.workbench.contracts.contract import Contract as Contract
    from triptych.workbench.contracts.loading import load_contract as load_contract
    from triptych.workbench.devices.device import Device as Device
    from triptych.workbench.devices.device import device as device
    from triptych.workbench.devices.device import device_names as device_names
    from triptych.workbench.planning.cute_kernel import CuteKernel as CuteKernel
    from triptych.workbench.planning.plan import KernelPlan as KernelPlan
    from triptych.workbench.planning.tiling import Tiling as Tiling
    from triptych.workbench.scripts import main as main
    from triptych.workbench.tuning.tuned_calls import tuned as tuned
    from triptych.workbench.verification.verifying import verify as verify

_NAMES = LazyNames(
    __name__,
    {
        "triptych.workbench.contracts.contract": "Contract",
        "triptych.workbench.contracts.loading": "load_contract",
        "triptych.workbench.devices.device": "Device device device_names",
        "triptych.workbench.planning.cute_kernel": "CuteKernel",
        "triptych.workbench.planning.plan": "KernelPlan",
        "triptych.workbench.planning.tiling": "Tiling",
        "triptych.workbench.scripts": "main",
        "triptych.workbench.tuning.tuned_calls": "tuned",
        "triptych.workbench.verification.verifying": "verify",
    },
    modules=(),
)

__getattr__ = _NAMES.load
__all__ = sorted(_NAMES.homes)  # noqa: PLE0605 - names, although not written out


def __dir__() -> list[str]:
    return __all__
