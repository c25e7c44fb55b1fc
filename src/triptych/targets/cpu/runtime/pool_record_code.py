"""LLVM IR of a pool that notes when which thread ran which blocks: `pool_code` with a few of its calls exchanged.

The pool that everybody uses has none of it, and compiled programs are the same for both: they import one or the other.
"""

from __future__ import annotations

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
