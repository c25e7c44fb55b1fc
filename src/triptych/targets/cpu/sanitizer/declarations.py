"""Declarations of the checkers' functions that compiled code calls, as MLIR text."""

from __future__ import annotations

from triptych.targets.cpu.abi.abi import CHECK_COLLECT, CHECK_DISCARD
from triptych.targets.cpu.sanitizer.async_code import COPY
from triptych.targets.cpu.sanitizer.async_proxy_code import LOAD, PHASE, USE
from triptych.targets.cpu.sanitizer.global_code import ACCESS_GLOBAL, GLOBAL_LOOP, GLOBAL_RUN, GLOBAL_RUN_LOOP
from triptych.targets.cpu.sanitizer.happens_before_code import SYNC
from triptych.targets.cpu.sanitizer.pipeline_code import CALL
from triptych.targets.cpu.sanitizer.read_log_code import ACCESS, ACCESS_LOOP, ACCESS_RUN, PASS_ALL, RUN_LOOP
from triptych.targets.cpu.sanitizer.shadow_code import BEGIN_BLOCK, END_BLOCK
from triptych.targets.cpu.sanitizer.uninitialized_code import UNSET

_THREADS = "i64, i32, i32"
DECLARATIONS = f"""
llvm.func @{BEGIN_BLOCK}(!llvm.ptr, {", ".join(["i32"] * 8)}, !llvm.ptr)
llvm.func @{END_BLOCK}()
llvm.func @{PASS_ALL}()
llvm.func @{ACCESS}(!llvm.ptr, {_THREADS}, i32, i32, i32, !llvm.ptr)
llvm.func @{ACCESS_RUN}(!llvm.ptr, i64, {_THREADS}, i32, i32, i32, !llvm.ptr)
llvm.func @{ACCESS_LOOP}(!llvm.ptr, {_THREADS}, i32, i32, i32, !llvm.ptr)
llvm.func @{RUN_LOOP}(!llvm.ptr, i64, {_THREADS}, i32, i32, i32, !llvm.ptr)
llvm.func @{ACCESS_GLOBAL}(!llvm.ptr, {_THREADS}, i32, i32, i32, !llvm.ptr)
llvm.func @{GLOBAL_RUN}(!llvm.ptr, i64, {_THREADS}, i32, i32, i32, !llvm.ptr)
llvm.func @{GLOBAL_LOOP}(!llvm.ptr, {_THREADS}, i32, i32, i32, !llvm.ptr)
llvm.func @{GLOBAL_RUN_LOOP}(!llvm.ptr, i64, {_THREADS}, i32, i32, i32, !llvm.ptr)
llvm.func @{COPY}(!llvm.ptr, !llvm.ptr, !llvm.ptr, {_THREADS}, i32, i32)
llvm.func @{SYNC}(i32, {_THREADS}, i64, i32, !llvm.ptr)
llvm.func @{UNSET}(!llvm.ptr, {_THREADS}, i32)
llvm.func @{CALL}(i64, {", ".join(["i32"] * 7)})
llvm.func @{PHASE}(i32, i64, i32, !llvm.ptr, i32)
llvm.func @{LOAD}(i32, !llvm.ptr, !llvm.ptr, i64, i32)
llvm.func @{USE}(i32, !llvm.ptr, i64, i32, i32)
llvm.func @{CHECK_COLLECT}(!llvm.ptr) -> i32
llvm.func @{CHECK_DISCARD}(!llvm.ptr, i32)
"""
