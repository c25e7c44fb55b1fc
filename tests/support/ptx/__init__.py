"""The GPU made of NumPy, `triptych.ptx_machine`, in front of which tests stand: installed as the driver, or by hand."""
