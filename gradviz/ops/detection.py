"""Detection: proposals, boxes, keypoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops import _boxes
from gradviz.ops._checks import require
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import SHOULD_NOT, kernel, operator
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.context import Context

operator(
    "GenerateProposals",
    inputs=4,
    outputs=2,
    args="spatial_scale pre_nms_topN post_nms_topN nms_thresh min_size "
    "angle_bound_on angle_bound_lo angle_bound_hi clip_angle_thresh",
    gradient=SHOULD_NOT,
)
operator("GenerateProposalsCPP", inputs=4, outputs=2, gradient=SHOULD_NOT)


def _bounds(on: int, low: int, high: int) -> _boxes.AngleBounds | None:
    return _boxes.AngleBounds(low, high) if on else None


def _best(xp: Any, scores: Any, most: int = -1) -> Any:
    """Indices in the order of falling scores, at most so many where `most` is not negative."""
    order = xp.argsort(-scores, kind="stable")
    return order if most < 0 else order[:most]


def _everywhere(xp: Any, anchors: Any, height: int, width: int, stride: float) -> Any:
    """The anchors (A, 4 or 5) at each place of the grid: (height · width · A, 4 or 5)."""
    y, x = xp.meshgrid(xp.arange(height), xp.arange(width), indexing="ij")
    shift = xp.stack([x, y], axis=2).reshape(-1, 1, 2) * stride
    rest = shift if anchors.shape[1] == 4 else xp.zeros((shift.shape[0], 1, 3))
    shifts = xp.concatenate([shift, rest], axis=2).astype(anchors.dtype)
    return (anchors + shifts).reshape(-1, anchors.shape[1])


@kernel("GenerateProposals", "GenerateProposalsCPP")
def generate_proposals(
    xp: Any,
    scores: Any,
    deltas: Any,
    info: Any,
    anchors: Any,
    *,
    spatial_scale: float = 1 / 16,
    pre_nms_topN: int = 6000,  # noqa: N803
    post_nms_topN: int = 300,  # noqa: N803
    nms_thresh: float = 0.7,
    min_size: float = 16.0,
    angle_bound_on: int = 1,
    angle_bound_lo: int = -90,
    angle_bound_hi: int = 90,
    clip_angle_thresh: float = 1.0,
    legacy_plus_one: int = 1,
) -> Any:
    """The best boxes of each picture that do not overlap too much: (picture, box...), and their scores.

    Reads scores (N, A, H, W), deltas (N, A · 4 or 5, H, W), height, width and scale of each picture (N, 3), and the
    boxes at the origin of the grid (A, 4 or 5).
    """
    expect("float32", scores, deltas, info, anchors)
    n, count, height, width = scores.shape
    size = anchors.shape[1]
    require(
        size in {4, 5} and anchors.shape[0] == count and deltas.shape == (n, count * size, height, width),
        f"scores {scores.shape}, deltas {deltas.shape} and anchors {anchors.shape} do not fit",
    )
    require(info.shape == (n, 3), f"im_info is {info.shape} where ({n}, 3) is wanted")
    one, bounds = int(bool(legacy_plus_one)), _bounds(angle_bound_on, angle_bound_lo, angle_bound_hi)
    grid = _everywhere(xp, anchors, height, width, 1 / spatial_scale)
    rois, chances = [], []
    for i, picture in enumerate(info.tolist()):
        flat = scores[i].transpose(1, 2, 0).ravel()
        order = _best(xp, flat, pre_nms_topN if pre_nms_topN > 0 else -1)
        steps = deltas[i].transpose(1, 2, 0).reshape(-1, size)[order]
        boxes = _boxes.moved(xp, grid[order], steps, [1.0] * 4, one, bounds)
        boxes = _boxes.clipped(xp, boxes, picture[0], picture[1], clip_angle_thresh, one)
        kept = xp.flatnonzero(_boxes.large_enough(boxes, min_size, picture, one))
        most = post_nms_topN if post_nms_topN > 0 else -1
        picked = xp.asarray(_boxes.thinned(xp, boxes, kept, nms_thresh, most, one), "int64")
        rois.append(xp.concatenate([xp.full((picked.size, 1), i, boxes.dtype), boxes[picked]], axis=1))
        chances.append(flat[order][picked])
    if not rois:
        return xp.zeros((0, size + 1), scores.dtype), xp.zeros(0, scores.dtype)
    return xp.concatenate(rois), xp.concatenate(chances)


operator(
    "BBoxTransform",
    inputs=3,
    outputs=(1, 2),
    args="weights apply_scale rotated angle_bound_on angle_bound_lo angle_bound_hi clip_angle_thresh",
    gradient=SHOULD_NOT,
)


def _rois_of_pictures(xp: Any, rois: Any, size: int, pictures: int) -> list[int]:
    """How many regions each picture has; they lie in order."""
    if rois.shape[1] == size:
        require(pictures == 1, f"without picture indices there may be one picture, not {pictures}")
        return [rois.shape[0]]
    owners = rois[:, 0].astype("int64")
    require(not owners.size or int(owners.max()) < pictures, f"a region lies in a picture beyond the {pictures} given")
    return [int((owners == i).sum()) for i in range(pictures)]


@kernel("BBoxTransform")
def bbox_transform(
    xp: Any,
    rois: Any,
    deltas: Any,
    info: Any,
    *,
    weights: list[float] | None = None,
    apply_scale: int = 1,
    rotated: int = 0,
    angle_bound_on: int = 1,
    angle_bound_lo: int = -90,
    angle_bound_hi: int = 90,
    clip_angle_thresh: float = 1.0,
    legacy_plus_one: int = 1,
) -> Any:
    """Regions moved by the deltas of each class and clipped to their picture, and how many each picture has."""
    expect("float32", rois, deltas, info)
    size = 5 if rotated else 4
    require(
        rois.ndim == deltas.ndim == 2 and rois.shape[1] in {size, size + 1} and deltas.shape[0] == rois.shape[0],
        f"rois {rois.shape} and deltas {deltas.shape} do not fit",
    )
    require(deltas.shape[1] % size == 0, f"{deltas.shape[1]} deltas are no multiple of {size}")
    require(info.ndim == 2 and info.shape[1] == 3, f"im_info is {info.shape} where (N, 3) is wanted")
    one, bounds = int(bool(legacy_plus_one)), _bounds(angle_bound_on, angle_bound_lo, angle_bound_hi)
    counts = _rois_of_pictures(xp, rois, size, info.shape[0])
    made, first = xp.empty_like(deltas), 0
    for count, (height, width, scale) in zip(counts, info.tolist(), strict=True):
        rows = slice(first, first + count)
        first += count
        limits = int(height / scale + 0.5), int(width / scale + 0.5)
        boxes = rois[rows, -size:].copy()
        boxes[:, :4] /= scale
        for k in range(0, deltas.shape[1], size):
            steps = deltas[rows, k : k + size]
            new = _boxes.moved(xp, boxes, steps, weights or [1.0] * 4, one, bounds)
            new = _boxes.clipped(xp, new, *limits, clip_angle_thresh, one)
            new[:, :4] *= scale if apply_scale else 1
            made[rows, k : k + size] = new
    return made, xp.asarray(counts, rois.dtype)


operator(
    "BoxWithNMSLimit",
    inputs=(2, 3),
    outputs=(3, 6),
    args="score_thresh nms detections_per_im rotated "
    "soft_nms_enabled soft_nms_method soft_nms_sigma soft_nms_min_score_thres",
    gradient=SHOULD_NOT,
)


@kernel("BoxWithNMSLimit")
def box_with_nms_limit(
    xp: Any,
    scores: Any,
    boxes: Any,
    splits: Any = None,
    *,
    score_thresh: float = 0.05,
    nms: float = 0.3,
    detections_per_im: int = 100,
    rotated: int = 0,
    soft_nms_enabled: int = 0,
    soft_nms_method: str = "linear",
    soft_nms_sigma: float = 0.5,
    soft_nms_min_score_thres: float = 0.001,
    cls_agnostic_bbox_reg: int = 0,
    input_boxes_include_bg_cls: int = 1,
    output_classes_include_bg_cls: int = 1,
    legacy_plus_one: int = 1,
) -> Any:
    """Thin out the boxes of each class but the background, and keep the best of each picture.

    Also given out: the classes, how many boxes each picture keeps, which ones, and how many of each class.
    """
    expect("float32", scores, boxes)
    size = 5 if rotated else 4
    scores, boxes = scores.reshape(scores.shape[0], -1), boxes.reshape(boxes.shape[0], -1)
    classes = scores.shape[1]
    if not input_boxes_include_bg_cls:  # then the background's score is the last
        scores = xp.roll(scores, 1, axis=1)
    places = [0 if cls_agnostic_bbox_reg else c - (not input_boxes_include_bg_cls) for c in range(classes)]
    require(
        scores.shape[0] == boxes.shape[0] and (places[-1] + 1) * size == boxes.shape[1],
        f"scores {scores.shape} and boxes {boxes.shape} do not fit",
    )
    require(soft_nms_method in {"linear", "gaussian"}, f"soft_nms_method {soft_nms_method!r} is not known")
    soft = _boxes.Softness(soft_nms_method, soft_nms_sigma, soft_nms_min_score_thres) if soft_nms_enabled else None
    counts = [scores.shape[0]] if splits is None else [int(count) for count in splits.tolist()]
    require(sum(counts) == scores.shape[0], f"batch splits {counts} do not cut {scores.shape[0]} boxes into pictures")
    one, first = int(bool(legacy_plus_one)), 0
    found: list[tuple[list[list[int]], Any, Any]] = []
    for count in counts:
        own_scores, own_boxes = scores[first : first + count], boxes[first : first + count]
        first += count
        own_scores, kept = _kept_by_class(
            xp, own_scores, own_boxes, places, size, (score_thresh, nms, detections_per_im), soft, one
        )
        found.append((_limited(kept, own_scores, detections_per_im), own_scores, own_boxes))
    rows = [(c, i, s, b) for kept, s, b in found for c in range(1, classes) for i in kept[c]]
    out_boxes = [b[i, places[c] * size : (places[c] + 1) * size] for c, i, _, b in rows]
    return (
        xp.asarray([float(s[i, c]) for c, i, s, _ in rows], scores.dtype),
        xp.stack(out_boxes) if rows else xp.zeros((0, size), boxes.dtype),
        xp.asarray([c - (not output_classes_include_bg_cls) for c, *_ in rows], scores.dtype),
        xp.asarray([sum(map(len, kept)) for kept, *_ in found], scores.dtype),
        xp.asarray([i for _, i, *_ in rows], "int32"),
        xp.asarray([[len(each) for each in kept] for kept, *_ in found], "int32").reshape(len(found), classes),
    )


def _kept_by_class(
    xp: Any,
    scores: Any,
    boxes: Any,
    places: list[int],
    size: int,
    limits: tuple[float, float, int],
    soft: _boxes.Softness | None,
    one: int,
) -> tuple[Any, list[list[int]]]:
    """The scores, lowered where thinning is soft, and the boxes that are left of each class but the background."""
    least, overlap, most = limits
    kept: list[list[int]] = [[]]
    lowered = scores.copy()
    for c in range(1, scores.shape[1]):
        mine, own = scores[:, c], boxes[:, places[c] * size : (places[c] + 1) * size]
        order = xp.flatnonzero(mine > least)
        if soft is not None:
            picked, lowered[:, c] = _boxes.softly_thinned(xp, own, mine, order, overlap, soft, one)
        else:
            order = order[_best(xp, mine[order])]
            picked = _boxes.thinned(xp, own, order, overlap, most if most > 0 else -1, one)
        kept.append(picked)
    return lowered, kept


def _limited(kept: list[list[int]], scores: Any, most: int) -> list[list[int]]:
    """At most so many boxes over all classes, the best ones."""
    if most <= 0 or sum(map(len, kept)) <= most:
        return kept
    ranked = sorted(((-float(scores[i, c]), c, i) for c, each in enumerate(kept) for i in each), key=lambda r: r[0])
    limited: list[list[int]] = [[] for _ in kept]
    for _, c, i in ranked[:most]:
        limited[c].append(i)
    return limited


# Pyramids: proposals of several levels collected, and dealt out to the level that suits their size.

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


@kernel("CollectRpnProposals")
def collect_rpn_proposals(
    xp: Any,
    *inputs: Any,
    rpn_max_level: int = 6,
    rpn_min_level: int = 2,
    rpn_post_nms_topN: int = 2000,  # noqa: N803
) -> Any:
    """The best regions of all levels; the inputs are the levels' regions, then their scores."""
    levels = rpn_max_level - rpn_min_level + 1
    require(len(inputs) == 2 * levels, f"{len(inputs)} inputs are not regions and scores of {levels} levels")
    expect("float32", *inputs)
    rois, scores = xp.concatenate(inputs[:levels]), xp.concatenate([each.ravel() for each in inputs[levels:]])
    require(rois.shape[0] == scores.size, f"{scores.size} scores do not fit {rois.shape[0]} regions")
    return rois[_best(xp, scores, rpn_post_nms_topN)]


@kernel("DistributeFpnProposals")
def distribute_fpn_proposals(
    xp: Any,
    rois: Any,
    *,
    ctx: Context,
    roi_canonical_scale: int = 224,
    roi_canonical_level: int = 4,
    roi_max_level: int = 5,
    roi_min_level: int = 2,
    legacy_plus_one: int = 1,
) -> Any:
    """Regions (picture, x1, y1, x2, y2) by level, and where each region of the input is among them."""
    expect("float32", rois)
    require(rois.ndim == 2 and rois.shape[1] in {4, 5}, f"rois are {rois.shape} where (R, 4) or (R, 5) is wanted")
    require(
        ctx.outputs >= roi_max_level - roi_min_level + 2,
        f"{ctx.outputs} outputs are too few for the levels and the order",
    )
    return _by_level(
        xp,
        rois,
        roi_canonical_scale,
        roi_canonical_level,
        range(roi_min_level, roi_max_level + 1),
        int(bool(legacy_plus_one)),
    )


def _by_level(xp: Any, rois: Any, scale: int, level: int, levels: range, one: int) -> tuple[Any, ...]:
    sides = rois[:, -2:] - rois[:, -4:-2] + one
    areas = sides[:, 0] * sides[:, 1]
    suited = xp.floor(level + xp.log2(xp.sqrt(areas) / scale + 1e-6))
    suited = xp.clip(xp.where(xp.isnan(suited), levels[0], suited), levels[0], levels[-1])
    picked = [xp.flatnonzero(suited == each) for each in levels]
    order = xp.argsort(xp.concatenate(picked), kind="stable").astype("int32")
    return (*(rois[each] for each in picked), order)


@kernel("CollectAndDistributeFpnRpnProposals")
def collect_and_distribute(
    xp: Any,
    *inputs: Any,
    roi_canonical_scale: int = 224,
    roi_canonical_level: int = 4,
    roi_max_level: int = 5,
    roi_min_level: int = 2,
    rpn_max_level: int = 6,
    rpn_min_level: int = 2,
    rpn_post_nms_topN: int = 2000,  # noqa: N803
    legacy_plus_one: int = 1,
) -> Any:
    """Both in one: the collected regions, the same by level, and where each is among them."""
    rois = collect_rpn_proposals(
        xp,
        *inputs,
        rpn_max_level=rpn_max_level,
        rpn_min_level=rpn_min_level,
        rpn_post_nms_topN=rpn_post_nms_topN,
    )
    levels = range(roi_min_level, roi_max_level + 1)
    return rois, *_by_level(xp, rois, roi_canonical_scale, roi_canonical_level, levels, int(bool(legacy_plus_one)))


operator("HeatmapMaxKeypoint", inputs=2, outputs=1, gradient=SHOULD_NOT)

_FARTHEST_STEP = 1.5


@kernel("HeatmapMaxKeypoint")
def heatmap_max_keypoint(xp: Any, maps: Any, boxes: Any, *, should_output_softmax: int = 0) -> Any:
    """For each box and keypoint (N, 4, K): x, y, height and (where asked for) probability of the highest point.

    Reads square heat maps (N, K, size, size) and boxes (N, 4 or more). The height between pixels is that of the
    quadratic surface through a pixel and its neighbours.
    """
    expect("float32", maps, boxes)
    n, count, size, _ = maps.shape
    require(size >= 2 and maps.shape[3] == size, f"maps must be square and at least 2 by 2, not {maps.shape[2:]}")
    require(boxes.ndim == 2 and boxes.shape[0] == n and boxes.shape[1] >= 4, f"boxes {boxes.shape} do not fit {n} maps")
    flat = maps.reshape(n, count, -1)
    best = flat.argmax(axis=2)
    y, x = best // size, best % size
    around = _around(xp, flat, y, x, size)
    step_x, step_y, height = _summit(xp, around)
    sides = xp.maximum(boxes[:, 2:4] - boxes[:, :2], 1)
    along = (x + 0.5 + step_x) * sides[:, :1] / size + boxes[:, :1]
    down = (y + 0.5 + step_y) * sides[:, 1:] / size + boxes[:, 1:2]
    chance = xp.zeros_like(height)
    if should_output_softmax:
        chance = xp.exp(around[1][1]) / xp.exp(flat).sum(axis=2)
    return xp.stack([along, down, height, chance], axis=1).astype(maps.dtype)


def _around(xp: Any, flat: Any, y: Any, x: Any, size: int) -> list[list[Any]]:
    """The values at a pixel and its neighbours, by row and column; beyond the edge they are mirrored."""

    def mirrored(at: Any, step: int) -> Any:
        there = at + step
        return xp.where((there < 0) | (there >= size), at - step, there)

    def value(row: int, column: int) -> Any:
        index = mirrored(y, row) * size + mirrored(x, column)
        return xp.take_along_axis(flat, index[..., None], axis=2)[..., 0]

    return [[value(row, column) for column in (-1, 0, 1)] for row in (-1, 0, 1)]


def _summit(xp: Any, around: list[list[Any]]) -> tuple[Any, Any, Any]:
    """The steps from the middle to the top of the quadratic surface, and its height there."""
    (nw, north, ne), (west, middle, east), (sw, south, se) = around
    slope_x, slope_y = (east - west) / 2, (south - north) / 2
    xx, yy, xy = west - 2 * middle + east, north - 2 * middle + south, (se - sw - ne + nw) / 4
    flatness = xx * yy - xy * xy
    is_flat = abs(flatness) < 1e-4
    divisor = xp.where(is_flat, 1, flatness)
    step_x, step_y = (xy * slope_y - yy * slope_x) / divisor, (xy * slope_x - xx * slope_y) / divisor
    longest = xp.maximum(abs(step_x), abs(step_y))
    shrink = xp.where(is_flat, 0, _FARTHEST_STEP / xp.maximum(longest, _FARTHEST_STEP))
    step_x, step_y = step_x * shrink, step_y * shrink
    rise = slope_x * step_x + slope_y * step_y
    bend = (xx * step_x * step_x + 2 * xy * step_x * step_y + yy * step_y * step_y) / 2
    return step_x, step_y, middle + rise + bend
