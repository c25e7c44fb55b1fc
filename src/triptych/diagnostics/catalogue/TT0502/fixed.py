from triptych.ir.llvm.worker import Request, shared_pool

shared_pool().compile(Request(), "define i32 @f() { ret i32 0 }")
