"""The PTX simulator, `triptych.ptxsim`, in front of which tests stand: installed as the driver, or by hand."""
