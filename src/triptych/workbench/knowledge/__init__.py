"""Knowledge pages: patterns and anti-patterns of kernels, whose figures scripts count or measure."""
