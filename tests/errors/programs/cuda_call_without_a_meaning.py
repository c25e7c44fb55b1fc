from triptych.compat.cuda_bindings import driver

error, module = driver.cuModuleLoadData(0)  # error: TT0712 at "driver.cuModuleLoadData(0)"
