from triptych.support.config import override

with override(opt_level=3):
    pass
