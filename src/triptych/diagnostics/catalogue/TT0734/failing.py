from triptych.support.config import override

with override(cache_remote="redis://host"):
    pass
