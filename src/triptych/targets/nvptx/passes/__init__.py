"""The passes of the NVIDIA target, a file each."""
