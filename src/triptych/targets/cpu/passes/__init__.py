"""The passes of the CPU target, a file each."""
