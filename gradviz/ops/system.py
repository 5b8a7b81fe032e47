"""Counters, flags, statistics, timers, printing and failing on purpose."""

from gradviz.ops.registry import SHOULD_NOT, operator
from gradviz.ops.schema import MANY

operator(
    "AtomicAppend", inputs=(3, MANY), outputs=(1, MANY), inplace=[(1, 0), (2, 1), (3, 2), (4, 3)], gradient=SHOULD_NOT
)
operator("AtomicFetchAdd", inputs=3, outputs=2, inplace=[(1, 0)], gradient=SHOULD_NOT)
operator("AtomicFetchAdd64", inputs=3, outputs=2, inplace=[(1, 0)])
operator("AveragePut", inputs=1, outputs=0, args="name magnitude_expand bound default_value")
operator("CheckAtomicBool", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("CheckCounterDone", inputs=1, outputs=1)
operator("ConditionalSetAtomicBool", inputs=2, outputs=0, gradient=SHOULD_NOT)
operator("CountDown", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("CountUp", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("Crash", inputs=0, outputs=0)
operator("CreateAtomicBool", inputs=0, outputs=1, gradient=SHOULD_NOT)
operator("CreateCounter", inputs=0, outputs=1, args="init_count", gradient=SHOULD_NOT)
operator("CreateMutex", inputs=0, outputs=1, gradient=SHOULD_NOT)
operator("Fail", inputs=0, outputs=0, gradient=SHOULD_NOT)
operator("FeedBlob", inputs=0, outputs=1, args="value", gradient=SHOULD_NOT)
operator(
    "Free",
    inputs=(1, MANY),
    outputs=(1, MANY),
    arities=[
        (1, 1),
        (2, 2),
        (3, 3),
        (4, 4),
        (5, 5),
        (6, 6),
        (7, 7),
        (8, 8),
        (9, 9),
        (10, 10),
        (11, 11),
        (12, 12),
        (13, 13),
        (14, 14),
        (15, 15),
        (16, 16),
        (17, 17),
        (18, 18),
        (19, 19),
        (20, 20),
        (21, 21),
        (22, 22),
        (23, 23),
        (24, 24),
    ],
    inplace="one_to_one",
    enforced=[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7)],
    gradient=SHOULD_NOT,
)
operator("GetAllBlobNames", inputs=0, outputs=1, args="include_shared")
operator("GetAllBlobNamesOp", checked=False, runs=False, gradient=SHOULD_NOT)
operator("GetGPUMemoryUsage", inputs=0, outputs=1)
operator("IncrementPut", inputs=1, outputs=0, args="name magnitude_expand bound default_value")
operator("LogFatal", inputs=0, outputs=0, gradient=SHOULD_NOT)
operator("Onnxifi", args="onnx_model initializers output_resize_hints")
operator("Print", inputs=1, outputs=0, args="to_file limit every_n", gradient=SHOULD_NOT)
operator("ResetCounter", inputs=1, outputs=(0, 1), args="init_count", gradient=SHOULD_NOT)
operator("RetrieveCount", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("StatRegistryCreate", inputs=0, outputs=1)
operator("StatRegistryExport", inputs=(0, 1), outputs=3, args="reset")
operator("StatRegistryUpdate", inputs=(2, 3), outputs=0)
operator("StdDevPut", inputs=1, outputs=0, args="name magnitude_expand bound default_value")
operator("Summarize", inputs=1, outputs=(0, 1), args="to_file", gradient=SHOULD_NOT)
operator("ThrowChildThreadException", inputs=0, outputs=0, gradient=SHOULD_NOT)
operator("ThrowException", inputs=0, outputs=0, gradient=SHOULD_NOT)
operator("TimerBegin", inputs=0, outputs=1, args="counter_name")
operator("TimerEnd", inputs=1, outputs=0)
operator("TimerGet", inputs=1, outputs=1)
operator("TimerGetAndEnd", inputs=1, outputs=1)
operator("WallClockTime", inputs=0, outputs=1, gradient=SHOULD_NOT)
