"""LLVM IR of the memory that blocks run in, and of execution records. Part of `pool_code`.

There is one arena for each thread that runs blocks. A launch says how many bytes one block needs; each thread that
takes part reserves them before its first block, so that no kernel fails for want of memory in the middle. An arena
stays with its thread for the next launch unless it is large.
"""

from __future__ import annotations

from triptych.targets.cpu.abi.abi import SHARED_ALIGNMENT
from triptych.targets.cpu.abi.system import ALLOCATE

ARENA_ALIGNMENT = SHARED_ALIGNMENT
"""Of an arena, and so of shared memory at its start. The bytes before it hold the arena's size."""
_KEPT = 16 << 20
"""Bytes of an arena that a thread keeps between launches."""
_GRAIN = 1 << 16

MEMORY_CODE = f"""
declare ptr @{ALLOCATE}(i64, i64)
declare void @free(ptr)
@memory_key = internal global %thread_key 0         ; under which each thread keeps its arena
@memory_key_made = internal global i1 false

define internal void @make_memory_key() {{
entry:
  %made = load i1, ptr @memory_key_made
  br i1 %made, label %leave, label %make
make:
  %status = call i32 @pthread_key_create(ptr @memory_key, ptr @free)
  store i1 true, ptr @memory_key_made
  br label %leave
leave:
  ret void
}}

; Has this thread own an arena that is large enough for the launch; gives whether it does.
define internal i1 @reserve_memory(ptr %launch) {{
entry:
  %bytes_place = getelementptr %launch, ptr %launch, i64 0, i32 15
  %bytes = load i64, ptr %bytes_place
  %none = icmp eq i64 %bytes, 0
  br i1 %none, label %enough, label %look
look:
  %key = load %thread_key, ptr @memory_key
  %old = call ptr @pthread_getspecific(%thread_key %key)
  %missing = icmp eq ptr %old, null
  br i1 %missing, label %make, label %compare
compare:
  %size = load i64, ptr %old
  %small = icmp ult i64 %size, %bytes
  br i1 %small, label %make, label %enough
make:
  call void @free(ptr %old)
  %more = add i64 %bytes, {_GRAIN - 1}
  %room = and i64 %more, {-_GRAIN}
  %whole = add i64 %room, {ARENA_ALIGNMENT}
  %new = call ptr @{ALLOCATE}(i64 {ARENA_ALIGNMENT}, i64 %whole)
  %kept = call i32 @pthread_setspecific(%thread_key %key, ptr %new)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %leave, label %fill
fill:
  store i64 %room, ptr %new
  br label %enough
enough:
  ret i1 true
leave:
  ret i1 false
}}

; After a launch: a large arena is given back.
define internal void @release_memory(ptr %launch) {{
entry:
  %bytes_place = getelementptr %launch, ptr %launch, i64 0, i32 15
  %bytes = load i64, ptr %bytes_place
  %large = icmp ugt i64 %bytes, {_KEPT}
  br i1 %large, label %give, label %leave
give:
  %key = load %thread_key, ptr @memory_key
  %arena = call ptr @pthread_getspecific(%thread_key %key)
  %forgotten = call i32 @pthread_setspecific(%thread_key %key, ptr null)
  call void @free(ptr %arena)
  br label %leave
leave:
  ret void
}}

; A launch inside of a launch, which uses the arena: the inner one gets an arena of its own.
define internal ptr @set_memory_aside(ptr %outer) {{
entry:
  %alone = icmp eq ptr %outer, null
  br i1 %alone, label %leave, label %nested
nested:
  %key = load %thread_key, ptr @memory_key
  %arena = call ptr @pthread_getspecific(%thread_key %key)
  %forgotten = call i32 @pthread_setspecific(%thread_key %key, ptr null)
  ret ptr %arena
leave:
  ret ptr null
}}

define internal void @take_memory_back(ptr %outer, ptr %aside) {{
entry:
  %alone = icmp eq ptr %outer, null
  br i1 %alone, label %leave, label %nested
nested:
  %key = load %thread_key, ptr @memory_key
  %arena = call ptr @pthread_getspecific(%thread_key %key)
  call void @free(ptr %arena)
  %restored = call i32 @pthread_setspecific(%thread_key %key, ptr %aside)
  br label %leave
leave:
  ret void
}}

; A part of the arena of this thread: its own object for LLVM, because nothing else gives its address.
define noalias ptr @triptych_block_memory(i64 %offset) noinline {{
  %key = load %thread_key, ptr @memory_key
  %arena = call ptr @pthread_getspecific(%thread_key %key)
  %start = getelementptr i8, ptr %arena, i64 {ARENA_ALIGNMENT}
  %part = getelementptr i8, ptr %start, i64 %offset
  ret ptr %part
}}
"""


# LLVM IR of a pool that notes when which thread ran which blocks: `pool_code` with a few of its calls exchanged.

LAUNCHED, RAN, WAITED = range(3)
"""What a record is of: a whole launch, a chunk of blocks, the end of a launch when its caller waits for others."""
FIELDS = 7
"""Words of a record: what, which kernel, thread, first block, the one after the last, when it began and ended."""
HEADER = 2
"""Words before the first record: how many there are, and how many there is room for."""


KEEP_RECORDS = "triptych_pool_keep_records"
"""Takes the address of memory for records."""


def with_records(text: str) -> str:
    """The pool `text`, with records."""
    launch = "define i32 @triptych_launch("
    for old, new, times in (
        (launch, "define internal i32 @launch_unrecorded(", 1),
        ("call void %chunk(", "call void @chunk_recorded(ptr %chunk, ", 3),
        ("call void @wait_for_workers(", "call void @wait_recorded(", 1),
    ):
        assert text.count(old) == times, f"the pool has changed: {old}"
        text = text.replace(old, new)
    return text + _CODE


_CODE = f"""
@records = internal global ptr null

define void @{KEEP_RECORDS}(i64 %place) {{
  %header = inttoptr i64 %place to ptr
  store ptr %header, ptr @records
  ret void
}}

define internal void @keep_record(i64 %what, ptr %identity, i64 %first, i64 %last, i64 %began) {{
entry:
  %ended = call i64 @now()
  %header = load ptr, ptr @records
  %number = atomicrmw add ptr %header, i64 1 monotonic
  %room_place = getelementptr i64, ptr %header, i64 1
  %room = load i64, ptr %room_place
  %fits = icmp ult i64 %number, %room
  br i1 %fits, label %keep, label %leave
keep:
  %before = mul i64 %number, {FIELDS}
  %offset = add i64 %before, {HEADER}
  %record = getelementptr i64, ptr %header, i64 %offset
  store i64 %what, ptr %record
  %identity_place = getelementptr i64, ptr %record, i64 1
  store ptr %identity, ptr %identity_place
  %thread = call i64 @pthread_self()
  %thread_place = getelementptr i64, ptr %record, i64 2
  store i64 %thread, ptr %thread_place
  %first_place = getelementptr i64, ptr %record, i64 3
  store i64 %first, ptr %first_place
  %last_place = getelementptr i64, ptr %record, i64 4
  store i64 %last, ptr %last_place
  %began_place = getelementptr i64, ptr %record, i64 5
  store i64 %began, ptr %began_place
  %ended_place = getelementptr i64, ptr %record, i64 6
  store i64 %ended, ptr %ended_place
  br label %leave
leave:
  ret void
}}

define internal void @chunk_recorded(ptr %chunk, ptr %packed, i64 %begin, i64 %end, ptr %launch) {{
  %began = call i64 @now()
  call void %chunk(ptr %packed, i64 %begin, i64 %end, ptr %launch)
  %identity_place = getelementptr %launch, ptr %launch, i64 0, i32 14
  %identity = load ptr, ptr %identity_place
  call void @keep_record(i64 {RAN}, ptr %identity, i64 %begin, i64 %end, i64 %began)
  ret void
}}

define internal void @wait_recorded(ptr %launch) {{
  %began = call i64 @now()
  call void @wait_for_workers(ptr %launch)
  %identity_place = getelementptr %launch, ptr %launch, i64 0, i32 14
  %identity = load ptr, ptr %identity_place
  call void @keep_record(i64 {WAITED}, ptr %identity, i64 0, i64 0, i64 %began)
  ret void
}}

define i32 @triptych_launch(ptr %chunk, ptr %packed, i64 %total, i32 %block_x, i32 %block_y, ptr %identity,
                            i64 %bytes, i32 %cooperative) noinline {{
  %began = call i64 @now()
  %status = call i32 @launch_unrecorded(ptr %chunk, ptr %packed, i64 %total, i32 %block_x, i32 %block_y, ptr %identity,
                                        i64 %bytes, i32 %cooperative)
  call void @keep_record(i64 {LAUNCHED}, ptr %identity, i64 0, i64 %total, i64 %began)
  ret i32 %status
}}
"""
