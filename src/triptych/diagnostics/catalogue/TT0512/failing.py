from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.toolchain.assembler import AssemblerOptions
from triptych.targets.nvptx.toolchain.assembling import find_assembler

find_assembler().assemble("no PTX", ARCHITECTURES["sm_80"], AssemblerOptions())
