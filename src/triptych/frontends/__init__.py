"""Front ends that read other languages into the kernel IR."""
