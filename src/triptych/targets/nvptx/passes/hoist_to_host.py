"""Pass `hoist-to-host`: what all threads would compute alike of their kernel's arguments, the host computes for them.

That is whether the kernel may run at all, as far as its first operations check that, and the reciprocals of what it
divides by. Both sides of a launch change, so it runs before they part.
"""

from __future__ import annotations

from triptych.ir.handles import Module
from triptych.ir.launch import launches
from triptych.ir.modules import operations_named
from triptych.ir.signature import signature_of
from triptych.targets.nvptx.analysis.extents import extents_given
from triptych.targets.nvptx.analysis.host_expressions import HostSide
from triptych.targets.nvptx.analysis.kernels import kernels
from triptych.targets.nvptx.analysis.leading_checks import CHECK, check_on_the_host
from triptych.targets.nvptx.passes.floor_divisions import LAST_OF_FLOOR
from triptych.targets.nvptx.passes.magic_division import DIVISIONS, ask_for_reciprocals


def hoist_to_host(module: Module) -> None:
    """Change the kernels and the launches of a program."""
    signature = signature_of(module)
    found = {kernel.attributes["sym_name"].value: kernel for kernel in kernels(module)}
    with module.context:
        for launch in launches(module):
            kernel = found[launch.kernel]
            operations = operations_named(kernel, CHECK, LAST_OF_FLOOR, *DIVISIONS)
            if operations:
                side = HostSide(kernel, launch, extents_given(module, signature, launch))
                ask_for_reciprocals(side, [operation for operation in operations if operation.name != CHECK])
                check_on_the_host(side, [operation for operation in operations if operation.name == CHECK])
                side.finish()
