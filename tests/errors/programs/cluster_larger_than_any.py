from triptych.utils import HardwareInfo

clusters = HardwareInfo().get_max_active_clusters(64)  # error: TT0711 at "HardwareInfo().get_max_active_clusters(64)"
