"""Code objects: LLVM's object linked to the file that AMD's runtime loads, and what such a file says of its kernels."""
