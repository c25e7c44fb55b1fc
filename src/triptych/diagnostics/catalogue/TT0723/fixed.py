from triptych.workbench import device

print(device("sm_80").shared_of_a_block)
