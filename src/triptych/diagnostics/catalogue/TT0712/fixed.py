from triptych.compat.cuda_bindings import driver

driver.cuInit(0)
