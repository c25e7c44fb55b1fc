from triptych.workbench import device

device("sm_77")
