from triptych.utils import HardwareInfo

print(HardwareInfo().get_max_active_clusters(4))
