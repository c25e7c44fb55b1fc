"""NVIDIA's toolchain: programs that assemble and disassemble."""
