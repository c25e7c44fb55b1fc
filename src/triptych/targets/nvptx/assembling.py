"""PTX to a cubin, by the assembler that the settings name or the first one that is installed."""

from __future__ import annotations

from triptych.support.config import config
from triptych.support.setting import SettingError
from triptych.targets.nvptx.assembler import Assembler
from triptych.targets.nvptx.finding import missing
from triptych.targets.nvptx.nvjitlink import NvJitLink
from triptych.targets.nvptx.ptxas import Ptxas

ASSEMBLERS: tuple[Assembler, ...] = (NvJitLink(), Ptxas())


def find_assembler() -> Assembler:
    """The assembler to use now."""
    wanted = config().assembler
    known = {assembler.name: assembler for assembler in ASSEMBLERS}
    if wanted and wanted not in known:
        raise SettingError(
            "assembler has no usable value", found=repr(wanted), expected=f"one of {', '.join(known)}, or nothing"
        )
    candidates = [known[wanted]] if wanted else list(ASSEMBLERS)
    for assembler in candidates:
        if assembler.version() is not None:
            return assembler
    extra = "cuda-tools" if wanted == "ptxas" else "cuda"
    raise missing(f"an assembler ({' or '.join(a.name for a in candidates)})", extra)
