"""Control flow: nets inside nets."""

from gradviz.ops.registry import NONE, SHOULD_NOT, TODO, UNREGISTERED, operator
from gradviz.ops.schema import MANY

operator("If", inputs=(1, MANY), inplace="any", args="then_net else_net", gradient=UNREGISTERED, python_rule=TODO)
operator("While", inputs=(1, MANY), inplace="any", args="loop_net cond_net", gradient=UNREGISTERED, python_rule=TODO)
operator(
    "Do",
    inputs=(1, MANY),
    outputs=(1, MANY),
    inplace="any",
    args="net inner_blobs outer_blobs_idx saved_fwd_blobs reuse_workspace",
    gradient=UNREGISTERED,
    python_rule=TODO,
)
operator("Conditional", inputs=3, outputs=1, gradient=NONE)
operator("CreateScope", inputs=0, outputs=1, gradient=SHOULD_NOT)
operator("HasScope", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("ONNXWhile", inputs=(2, MANY), inplace="any", args="body has_trip_count has_cond save_scopes disable_scopes")
operator(
    "AsyncNetBarrier",
    inputs=(1, MANY),
    outputs=(1, MANY),
    inplace="one_to_one",
    args="cross_device",
    gradient=SHOULD_NOT,
)
