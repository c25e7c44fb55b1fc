"""OpenCL: the driver, and the loader of the SPIR-V target."""
