"""The programs of NVIDIA that assemble and disassemble."""
