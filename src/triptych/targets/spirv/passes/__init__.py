"""The passes of the SPIR-V target, one file each."""
