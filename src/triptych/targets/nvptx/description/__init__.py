"""NVPTX architectures: instructions, limits and intrinsics, as tables."""
