"""LLVM IR for AMD as LLVM IR for OpenCL: intrinsics of waves become functions written with built-ins of sub-groups.

Input: the text that the AMD target hands to LLVM, and the lanes of a wave. Output: the text of the same kernels for
SPIR-V. The packet of the launch becomes the last parameter but one, LDS the last one. What lanes do that do not come to
an operation OpenCL leaves open; kernels whose waves diverge around one may come out otherwise than on a chip.
"""

from __future__ import annotations

import re

from benchmarks.amd_matrix_shim import is_matrix, matrix_function

_OURS = "shim."
_KERNEL = re.compile(r"^define amdgpu_kernel void @(\S+?)\((.*)\) ([^{]*)\{$", re.MULTILINE)
_DECLARED = re.compile(r"^declare [^@]*@llvm\.(?:amdgcn|readcyclecounter|readsteadycounter|trap)\S*\(.*$", re.MULTILINE)
_CALLED = re.compile(r"@llvm\.(amdgcn\.[\w.]+|readcyclecounter|readsteadycounter|trap)\b")
_PRIVATE_CAST = re.compile(r"addrspacecast ptr (%\S+) to ptr$", re.MULTILINE)
_FENCE = re.compile(r'^  fence syncscope\("(?:workgroup|wavefront|subgroup)"\) \w+$', re.MULTILINE)
"""The barriers beside them say the same."""
_PLACE = re.compile(r"getelementptr (?:inbounds |nuw )*\(([^()]*(?:\([^()]*\)[^()]*)*%smem[^()]*)\)")
_SCOPES = {"agent": "device", "wavefront": "subgroup"}
_AXES = "xyz"
_OTHERS = "attributes #900 = {{ convergent nounwind }}\n!900 = !{{i32 {lanes}}}\n"


def in_opencl(text: str, lanes: int) -> str:
    """The kernels with the shim behind them."""
    text = _DECLARED.sub("", text)
    text = re.sub(r"(call )(?:range\([^)]*\) |noundef )*", r"\1", text)
    text = _CALLED.sub(lambda found: f"@{_OURS}{found[1]}", text)
    text = text.replace(f"call ptr addrspace(4) @{_OURS}amdgcn.dispatch.ptr()", _PACKET)
    text = text.replace(", addrspace(5)", "").replace(" addrspace(5)", "")
    text = _PRIVATE_CAST.sub(r"getelementptr i8, ptr \1, i64 0", text)
    for ours, theirs in _SCOPES.items():
        text = text.replace(f'syncscope("{ours}")', f'syncscope("{theirs}")')
    text = re.sub(r"^@__smem = .*$", "", text, flags=re.MULTILINE).replace("@__smem", "%smem")
    text = _FENCE.sub("", text)
    text = "\n".join(_with_addresses(line, number) for number, line in enumerate(text.splitlines()))
    text = _KERNEL.sub(_opened, text)
    used = set(re.findall(rf"@({re.escape(_OURS)}[\w.]+)", text))
    return "\n".join([text, *_functions(used, lanes), _OTHERS.format(lanes=lanes)])


def _with_addresses(line: str, number: int) -> str:
    """Places in LDS are constants in the text for AMD; those of a parameter are computed."""
    found = _PLACE.search(line)
    if found is None:
        return line
    name = f"%place.{number}"
    return f"  {name} = getelementptr {found[1]}\n{_with_addresses(line.replace(found[0], name), number + (1 << 20))}"


_PACKET = "addrspacecast ptr addrspace(1) %packet to ptr addrspace(4)"


def _opened(found: re.Match[str]) -> str:
    parameters = ", ".join(filter(None, (found[2], "ptr addrspace(1) %packet", "ptr addrspace(3) %smem")))
    metadata = " ".join(re.findall(r"![\w.]+ !\d+", found[3]))
    return f"define spir_kernel void @{found[1]}({parameters}) {metadata} !intel_reqd_sub_group_size !900 {{"


def _functions(used: set[str], lanes: int) -> list[str]:
    """Definitions of what is called, and of what those call."""
    wanted, written = sorted(used), []
    known = {**_PLAIN, **(_OF_64 if lanes == 64 else _OF_32)}
    done: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in done:
            continue
        done.add(name)
        short = name.removeprefix(_OURS)
        body = known[short] if short in known else matrix_function(short) if is_matrix(short) else _index(short)
        written.append(body)
        wanted += re.findall(rf"@({re.escape(_OURS)}[\w.]+)", body)
    builtins = sorted(
        {call for body in written for call in re.findall(r"call spir_func (\S+(?: x i32>)?) @(_Z\w+)", body)}
    )
    return [*written, *(f"declare spir_func {kind} @{name}({_BUILTINS[name]}) #900" for kind, name in builtins)]


_BUILTINS = {
    "_Z22get_sub_group_local_idv": "",
    "_Z17sub_group_shuffleij": "i32, i32",
    "_Z16sub_group_balloti": "i32",
    "_Z7barrierj": "i32",
    "_Z17sub_group_barrierj": "i32",
    "_Z12get_local_idj": "i32",
    "_Z12get_group_idj": "i32",
}


def _index(name: str) -> str:
    """`amdgcn.workitem.id.x` and its like."""
    kind, axis = name.removeprefix("amdgcn.").rsplit(".", 1)
    builtin = {"workitem.id": "_Z12get_local_idj", "workgroup.id": "_Z12get_group_idj"}[kind]
    return _function(
        "i32",
        name,
        "",
        f"%a = call spir_func i64 @{builtin}(i32 {_AXES.index(axis)})",
        "%r = trunc i64 %a to i32",
        "ret i32 %r",
    )


def _function(result: str, name: str, parameters: str, *lines: str) -> str:
    body = "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
    return f"define internal {result} @{_OURS}{name}({parameters}) #900 {{\n{body}\n}}\n"


def _read(lane: str, value: str = "%v") -> str:
    return f"%r = call spir_func i32 @_Z17sub_group_shuffleij(i32 {value}, i32 {lane})"


_LANE = "%lane = call spir_func i32 @_Z22get_sub_group_local_idv()"
_NOTHING = ("ret void",)


def _dpp() -> str:
    """The lane that a control names, and whether there is one, by its kind."""
    return _function(
        "i32",
        "amdgcn.update.dpp.i32",
        "i32 %old, i32 %v, i32 %control, i32 %rows, i32 %banks, i1 %zero",
        _LANE,
        "%row = and i32 %lane, -16",
        "%place = and i32 %lane, 15",
        "%quad = and i32 %lane, -4",
        "%in_quad = and i32 %lane, 3",
        "%shift = shl i32 %in_quad, 1",
        "%shifted = lshr i32 %control, %shift",
        "%chosen = and i32 %shifted, 3",
        "%by_quad = or i32 %quad, %chosen",
        "%turn = and i32 %control, 15",
        "%rotated = add i32 %place, %turn",
        "%wrapped = and i32 %rotated, 15",
        "%by_rotation = or i32 %row, %wrapped",
        "%mirrored = xor i32 %lane, 15",
        "%half = xor i32 %lane, 7",
        "%masked = xor i32 %lane, %turn",
        "%next = add i32 %lane, 1",
        "%before = add i32 %lane, -1",
        "%kind = lshr i32 %control, 4",
        "%is_rotation = icmp eq i32 %kind, 18",
        "%is_next = icmp eq i32 %control, 304",
        "%is_before = icmp eq i32 %control, 312",
        "%is_mirror = icmp eq i32 %control, 320",
        "%is_half = icmp eq i32 %control, 321",
        "%is_mask = icmp eq i32 %kind, 22",
        "%s0 = select i1 %is_rotation, i32 %by_rotation, i32 %by_quad",
        "%s1 = select i1 %is_next, i32 %next, i32 %s0",
        "%s2 = select i1 %is_before, i32 %before, i32 %s1",
        "%s3 = select i1 %is_mirror, i32 %mirrored, i32 %s2",
        "%s4 = select i1 %is_half, i32 %half, i32 %s3",
        "%s5 = select i1 %is_mask, i32 %masked, i32 %s4",
        "%there = icmp ult i32 %s5, 64",
        "%safe = and i32 %s5, 63",
        _read("%safe"),
        "%without = select i1 %zero, i32 0, i32 %old",
        "%found = select i1 %there, i32 %r, i32 %without",
        "ret i32 %found",
    )


_PLAIN = {
    "amdgcn.ds.bpermute": _function(
        "i32",
        "amdgcn.ds.bpermute",
        "i32 %address, i32 %v",
        "%lane = lshr i32 %address, 2",
        _read("%lane"),
        "ret i32 %r",
    ),
    "amdgcn.ds.swizzle": _function(
        "i32",
        "amdgcn.ds.swizzle",
        "i32 %v, i32 %offset",
        _LANE,
        "%half = and i32 %lane, 32",
        "%low = and i32 %lane, 31",
        "%ands = and i32 %offset, 31",
        "%o = lshr i32 %offset, 5",
        "%ors = and i32 %o, 31",
        "%x = lshr i32 %offset, 10",
        "%xors = and i32 %x, 31",
        "%a = and i32 %low, %ands",
        "%b = or i32 %a, %ors",
        "%c = xor i32 %b, %xors",
        "%d = or i32 %half, %c",
        _read("%d"),
        "ret i32 %r",
    ),
    "amdgcn.update.dpp.i32": _dpp(),
    "amdgcn.permlanex16.i32": _function(
        "i32",
        "amdgcn.permlanex16.i32",
        "i32 %old, i32 %v, i32 %low, i32 %high, i1 %a, i1 %b",
        _LANE,
        "%other = xor i32 %lane, 16",
        _read("%other"),
        "ret i32 %r",
    ),
    "amdgcn.permlane32.swap": _function(
        "{ i32, i32 }",
        "amdgcn.permlane32.swap",
        "i32 %a, i32 %b, i1 %c, i1 %d",
        _LANE,
        "%other = xor i32 %lane, 32",
        _read("%other", "%a"),
        "%first = insertvalue { i32, i32 } poison, i32 %a, 0",
        "%both = insertvalue { i32, i32 } %first, i32 %r, 1",
        "ret { i32, i32 } %both",
    ),
    "amdgcn.readlane.i32": _function("i32", "amdgcn.readlane.i32", "i32 %v, i32 %lane", _read("%lane"), "ret i32 %r"),
    "amdgcn.set.inactive.i32": _function("i32", "amdgcn.set.inactive.i32", "i32 %v, i32 %other", "ret i32 %v"),
    "amdgcn.strict.wwm.i32": _function("i32", "amdgcn.strict.wwm.i32", "i32 %v", "ret i32 %v"),
    "amdgcn.wave.barrier": _function(
        "void", "amdgcn.wave.barrier", "", "call spir_func void @_Z17sub_group_barrierj(i32 3)", "ret void"
    ),
    "amdgcn.s.barrier": _function(
        "void", "amdgcn.s.barrier", "", "call spir_func void @_Z7barrierj(i32 3)", "ret void"
    ),
    "amdgcn.s.barrier.signal": _function(
        "void", "amdgcn.s.barrier.signal", "i32 %n", "call spir_func void @_Z7barrierj(i32 3)", "ret void"
    ),
    "amdgcn.s.barrier.wait": _function("void", "amdgcn.s.barrier.wait", "i16 %n", *_NOTHING),
    "amdgcn.s.sleep": _function("void", "amdgcn.s.sleep", "i32 %n", *_NOTHING),
    "amdgcn.s.waitcnt": _function("void", "amdgcn.s.waitcnt", "i32 %n", *_NOTHING),
    "amdgcn.sched.barrier": _function("void", "amdgcn.sched.barrier", "i32 %n", *_NOTHING),
    "trap": _function("void", "trap", "", *_NOTHING),
    "readcyclecounter": _function("i64", "readcyclecounter", "", "ret i64 0"),
    "readsteadycounter": _function("i64", "readsteadycounter", "", "ret i64 0"),
    "amdgcn.global.load.lds": _function(
        "void",
        "amdgcn.global.load.lds",
        "ptr addrspace(1) %from, ptr addrspace(3) %to, i32 %size, i32 %offset, i32 %aux",
        _LANE,
        "%behind = mul i32 %lane, %size",
        "%place = getelementptr i8, ptr addrspace(3) %to, i32 %behind",
        "br label %turn",
        "turn:",
        "%i = phi i32 [ 0, %0 ], [ %next, %turn ]",
        "%p = getelementptr i8, ptr addrspace(1) %from, i32 %i",
        "%q = getelementptr i8, ptr addrspace(3) %place, i32 %i",
        "%v = load i32, ptr addrspace(1) %p",
        "store i32 %v, ptr addrspace(3) %q",
        "%next = add i32 %i, 4",
        "%more = icmp ult i32 %next, %size",
        "br i1 %more, label %turn, label %end",
        "end:",
        "ret void",
    ),
}
_COUNT = (
    "%bits = sub i32 32, %n",
    "%all = lshr i32 -1, %bits",
    "%none = icmp eq i32 %n, 0",
    "%below = select i1 %none, i32 0, i32 %all",
    "%chosen = and i32 %mask, %below",
    "%count = call i32 @llvm.ctpop.i32(i32 %chosen)",
    "%r = add i32 %count, %base",
    "ret i32 %r",
)


def _mbcnt(half: str, *lanes_before: str) -> str:
    """How many bits of a half of a mask are of lanes before this one."""
    return _function("i32", f"amdgcn.mbcnt.{half}", "i32 %mask, i32 %base", _LANE, *lanes_before, *_COUNT)


def _ballot(bits: int, *joined: str) -> str:
    return _function(
        f"i{bits}",
        f"amdgcn.ballot.i{bits}",
        "i1 %c",
        "%w = zext i1 %c to i32",
        "%four = call spir_func <4 x i32> @_Z16sub_group_balloti(i32 %w)",
        "%low = extractelement <4 x i32> %four, i32 0",
        *joined,
    )


def _read_first(bits: int) -> str:
    return _function(
        "i32",
        "amdgcn.readfirstlane.i32",
        "i32 %v",
        f"%active = call i{bits} @{_OURS}amdgcn.ballot.i{bits}(i1 true)",
        f"%first = call i{bits} @llvm.cttz.i{bits}(i{bits} %active, i1 false)",
        "%lane = trunc i64 %first to i32" if bits == 64 else "%lane = add i32 %first, 0",
        _read("%lane"),
        "ret i32 %r",
    )


_OF_64 = {
    "amdgcn.mbcnt.lo": _mbcnt("lo", "%n = call i32 @llvm.umin.i32(i32 %lane, i32 32)"),
    "amdgcn.mbcnt.hi": _mbcnt("hi", "%m = call i32 @llvm.umax.i32(i32 %lane, i32 32)", "%n = sub i32 %m, 32"),
    "amdgcn.ballot.i64": _ballot(
        64,
        "%high = extractelement <4 x i32> %four, i32 1",
        "%a = zext i32 %low to i64",
        "%b = zext i32 %high to i64",
        "%d = shl i64 %b, 32",
        "%r = or i64 %a, %d",
        "ret i64 %r",
    ),
    "amdgcn.readfirstlane.i32": _read_first(64),
}
_OF_32 = {
    "amdgcn.mbcnt.lo": _mbcnt("lo", "%n = add i32 %lane, 0"),
    "amdgcn.ballot.i32": _ballot(32, "ret i32 %low"),
    "amdgcn.readfirstlane.i32": _read_first(32),
}
