"""Messages between machines and devices."""

from gradviz.ops.registry import NONE, SHOULD_NOT, no_kernel, operator
from gradviz.ops.schema import MANY, one_ahead, same

operator("Allgather", inputs=(2, MANY), outputs=1, gradient=SHOULD_NOT)
operator("Allreduce", arities=lambda i, o: i == o + 1 >= 2, enforced=one_ahead, gradient=SHOULD_NOT)
operator("Barrier", inputs=1, gradient=SHOULD_NOT)
operator("Broadcast", arities=lambda i, o: i == o + 1 >= 2, enforced=one_ahead, args="root", gradient=SHOULD_NOT)
operator("CloneCommonWorld", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("CreateCommonWorld", inputs=(0, 1), outputs=1, args="size rank", gradient=SHOULD_NOT)
operator("DestroyCommonWorld", inputs=1, outputs=1, enforced=[(0, 0)], gradient=SHOULD_NOT)
operator("NCCLAllGather", inputs=(1, 16), outputs=(1, 16), gradient=SHOULD_NOT)
operator("NCCLAllreduce", inputs=(1, 16), outputs=(1, 16), inplace="one_to_one", gradient=SHOULD_NOT)
operator("NCCLBroadcast", inputs=(1, 16), outputs=(1, 16), enforced=same, gradient=SHOULD_NOT)
operator("NCCLReduce", inputs=(1, 16), outputs=1, inplace="any", gradient=SHOULD_NOT)
operator("NCCLReduceScatter", inputs=(1, 16), outputs=(1, 16), gradient=SHOULD_NOT)
operator(
    "ReceiveTensor",
    outputs=3,
    arities=[(2, 3), (4, 3)],
    inplace=[(2, 1), (3, 2)],
    enforced=[(1, 0)],
    args="src tag raw_buffer",
    gradient=SHOULD_NOT,
)
operator("SendTensor", outputs=0, arities=[(2, 0), (4, 0)], args="dst tag raw_buffer", gradient=SHOULD_NOT)
operator("Reduce", inputs=2, outputs=1, args="root", gradient=SHOULD_NOT)
operator("ReduceScatter", arities=lambda i, o: i == o + 1 >= 2, enforced=one_ahead, gradient=SHOULD_NOT)
operator("StoreAdd", inputs=1, outputs=1, args="blob_name add_value")
operator("StoreGet", inputs=1, outputs=1, args="blob_name")
operator("StoreSet", inputs=2, outputs=0, args="blob_name")
operator("StoreWait", inputs=(1, 2), outputs=0, args="blob_names")
operator("FileStoreHandlerCreate", inputs=0, outputs=1, args="path prefix")
operator("FileStoreHandlerCreateOp", checked=False, runs=False, gradient=NONE)

_TALKING = (
    "Allgather Allreduce Barrier Broadcast CloneCommonWorld CreateCommonWorld DestroyCommonWorld NCCLAllGather "
    "NCCLAllreduce NCCLBroadcast NCCLReduce NCCLReduceScatter ReceiveTensor SendTensor Reduce ReduceScatter "
    "StoreAdd StoreGet StoreSet StoreWait FileStoreHandlerCreate"
)
no_kernel("it talks to other machines or devices, and gradviz runs a net on one", *_TALKING.split())
