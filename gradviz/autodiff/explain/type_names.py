"""What users mean by operator types that do not exist here, and what some types stand for."""

from __future__ import annotations

from gradviz.ops.registry import lookup, nearest_types, operators

DETECTRON = frozenset(
    {
        *("GroupSpatialSoftmax", "PSRoIPool", "RoIPoolF", "SampleAs", "SelectSmoothL1Loss", "SigmoidCrossEntropyLoss"),
        *("SigmoidFocalLoss", "SmoothL1Loss", "SoftmaxFocalLoss", "SpatialNarrowAs", "UpsampleNearest"),
    }
)
"""Types of the add-on library that Detectron loads."""

ADD_ONS = {
    **dict.fromkeys(DETECTRON, "the Detectron add-on library"),
    **dict.fromkeys(("VideoInput", "CustomizedVideoInput"), "the video add-on of Caffe2"),
    "ImageInput": "the image add-on of Caffe2, which needs OpenCV",
    **dict.fromkeys(("WarpCTC", "CTC"), "the CTC add-on of Caffe2"),
    **dict.fromkeys(("TensorRT",), "the TensorRT add-on of Caffe2"),
}
"""Where some types come from that a plain build does not have."""

ELSEWHERE = {
    "averagepooling": "AveragePool",
    "batchnorm": "SpatialBN",
    "batchnormalization": "SpatialBN",
    "convolution": "Conv",
    "deconvolution": "ConvTranspose",
    "dense": "FC",
    "eltwise": "Sum",
    "embedding": "Gather",
    "euclideanloss": "SquaredL2Distance",
    "fullyconnected": "FC",
    "gemm": "FC",
    "globalaveragepool": "AveragePool",
    "globalmaxpool": "MaxPool",
    "innerproduct": "FC",
    "linear": "FC",
    "maxpooling": "MaxPool",
    "meansquarederror": "SquaredL2Distance",
    "mseloss": "SquaredL2Distance",
    "pooling": "MaxPool",
    "roipoolf": "RoIPool",
    "softmaxloss": "SoftmaxWithLoss",
    "softmaxwithcrossentropy": "SoftmaxWithLoss",
    "softmaxcrossentropy": "SoftmaxWithLoss",
    "upsample": "ResizeNearest",
    "upsamplenearest": "ResizeNearest",
}
"""What other frameworks call things: their name in lower case -> the name here."""

FLAT = frozenset(
    {
        *("Floor", "Ceil", "Round", "Sign", "ArgMax", "ArgMin", "GT", "LT", "GE", "LE", "EQ", "NE", "And", "Or", "Xor"),
        *("Not", "OneHot", "Bucketize", "BatchBucketize", "BatchOneHot", "IsNaN", "Quantile", "Histogram"),
    }
)
"""Functions in steps: their derivative is zero almost everywhere, so stopping the gradient loses nothing."""

METRICS = frozenset(
    {"Accuracy", "MultiClassAccuracy", "Perplexity", "APMeter", "PrecisionRecall", "Print", "Summarize"}
)
"""Types that only measure or show."""

LOSSES = frozenset(
    {
        *("AveragedLoss", "SoftmaxWithLoss", "SpatialSoftmaxWithLoss", "LabelCrossEntropy", "CrossEntropy"),
        *("SquaredL2Distance", "SigmoidCrossEntropyWithLogits", "MarginRankingCriterion", "HSoftmax"),
    }
)
"""Types by which one knows a net that is trained."""

PER_EXAMPLE = frozenset(
    {
        *("LabelCrossEntropy", "CrossEntropy", "SquaredL2Distance", "L1Distance", "SigmoidCrossEntropyWithLogits"),
        *("WeightedSigmoidCrossEntropyWithLogits", "MarginRankingCriterion", "CosineEmbeddingCriterion"),
    }
)
"""Types that give a loss for each example."""

CUDA_ONLY = frozenset(
    {
        *("NCCLAllreduce", "NCCLBroadcast", "NCCLReduce", "NCCLAllGather", "NCCLReduceScatter", "GetGPUMemoryUsage"),
        *("CopyCPUToGPU", "CopyGPUToCPU"),
    }
)
"""Types that exist for CUDA only."""

_FLOAT_FAMILIES = {
    *("activations", "convolution", "distances", "losses", "matmul", "normalization", "pooling", "random"),
}
_FLOAT_TYPES = {"AveragedLoss", "SumElements", "Exp", "Log", "Sqrt", "Scale", "LpNorm", "ReduceMean"}


def similar_types(type: str, most: int = 3) -> list[str]:
    """Known types that may be meant by an unknown one, likeliest first.

    A class name without its `Op`, another case, another framework's name, a near spelling, a name that begins or ends
    with the same word.
    """
    known = operators()
    found: dict[str, None] = {}
    stem = type.removesuffix("Op")
    if stem in known:
        found[stem] = None
    folded = type.lower()
    found.update(dict.fromkeys(name for name in known if name.lower() in (folded, stem.lower())))
    if folded in ELSEWHERE:
        found[ELSEWHERE[folded]] = None
    found.update(dict.fromkeys(nearest_types(type)))
    if len(stem) >= 4:
        kin = [name for name in known if name.endswith(stem) or (name.startswith(stem) and len(name) < len(stem) + 6)]
        found.update(dict.fromkeys(sorted(kin, key=len)))
    found.pop(type, None)
    return list(found)[:most]


def gives_floats(type: str) -> bool:
    """Whether an operator of this type surely writes floats."""
    known = lookup(type)
    return known is not None and (known.family in _FLOAT_FAMILIES or type in _FLOAT_TYPES)
