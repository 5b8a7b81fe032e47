"""Detection: proposals, boxes, keypoints."""

from gradviz.ops.registry import SHOULD_NOT, operator
from gradviz.ops.schema import MANY

operator(
    "GenerateProposals",
    inputs=4,
    outputs=2,
    args="spatial_scale pre_nms_topN post_nms_topN nms_thresh min_size "
    "angle_bound_on angle_bound_lo angle_bound_hi clip_angle_thresh",
    gradient=SHOULD_NOT,
)
operator("GenerateProposalsCPP", inputs=4, outputs=2, gradient=SHOULD_NOT)
operator(
    "BBoxTransform",
    inputs=3,
    outputs=(1, 2),
    args="weights apply_scale rotated angle_bound_on angle_bound_lo angle_bound_hi clip_angle_thresh",
    gradient=SHOULD_NOT,
)
operator(
    "BoxWithNMSLimit",
    inputs=(2, 3),
    outputs=(3, 6),
    args="score_thresh nms detections_per_im rotated "
    "soft_nms_enabled soft_nms_method soft_nms_sigma soft_nms_min_score_thres",
    gradient=SHOULD_NOT,
)
operator(
    "CollectRpnProposals",
    inputs=(2, MANY),
    outputs=1,
    args="rpn_max_level rpn_min_level rpn_post_nms_topN",
    gradient=SHOULD_NOT,
)
operator(
    "CollectAndDistributeFpnRpnProposals",
    inputs=(2, MANY),
    outputs=(3, MANY),
    args="roi_canonical_scale roi_canonical_level roi_max_level roi_min_level "
    "rpn_max_level rpn_min_level rpn_post_nms_topN",
    gradient=SHOULD_NOT,
)
operator(
    "DistributeFpnProposals",
    inputs=1,
    outputs=(2, MANY),
    args="roi_canonical_scale roi_canonical_level roi_max_level roi_min_level",
    gradient=SHOULD_NOT,
)
operator("HeatmapMaxKeypoint", inputs=2, outputs=1, gradient=SHOULD_NOT)
