from triptych.ir.llvm.worker import Request, shared_pool

shared_pool().compile(Request(), "define i32 @f() { ret i64 0 }")  # the returned type is not the declared one
