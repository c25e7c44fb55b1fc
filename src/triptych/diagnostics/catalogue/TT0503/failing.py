from triptych.ir.llvm.worker import Request, shared_pool

shared_pool().compile(Request(), 'define void @f() { call void asm "no such instruction", ""() ret void }')
