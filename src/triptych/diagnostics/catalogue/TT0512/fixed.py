from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.toolchain.assembler import AssemblerOptions
from triptych.targets.nvptx.toolchain.assembling import find_assembler

ptx = ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }"
find_assembler().assemble(ptx, ARCHITECTURES["sm_80"], AssemblerOptions())
