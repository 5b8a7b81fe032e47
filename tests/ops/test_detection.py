"""Detection: boxes moved, clipped and thinned out, levels of a pyramid, keypoints."""

import math

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.ops._boxes import overlaps
from tests.ops.running import run

f4 = np.float32


def test_boxes_move_by_their_size_and_grow_by_logarithms():
    rois, info = f4([[10, 10, 19, 19]]), f4([[100, 100, 1]])
    assert run("BBoxTransform", rois, f4([[0, 0, 0, 0]]), info).tolist() == [[10, 10, 19, 19]]
    assert run("BBoxTransform", rois, f4([[0.5, 0, 0, 0]]), info).tolist() == [[15, 10, 24, 19]]
    grown = run("BBoxTransform", rois, f4([[0, 0, math.log(2), 0]]), info)
    np.testing.assert_allclose(grown, [[5, 10, 24, 19]], rtol=1e-5)
    clipped = run("BBoxTransform", rois, f4([[-5, 20, 0, 0]]), info)
    assert clipped.tolist() == [[0, 99, 0, 99]]


def test_regions_are_counted_by_picture():
    rois, info = f4([[0, 1, 1, 5, 5], [0, 1, 1, 5, 5], [2, 1, 1, 5, 5]]), np.tile(f4([50, 50, 1]), (3, 1))
    _, counts = run("BBoxTransform", rois, np.zeros((3, 8), f4), info, outputs=2)
    assert counts.tolist() == [2, 0, 1]
    with pytest.raises(ExecutionError, match="beyond the 1"):
        run("BBoxTransform", rois, np.zeros((3, 8), f4), info[:1])


def test_angles_are_brought_between_their_bounds():
    rois, info = f4([[20, 20, 10, 10, 80]]), f4([[100, 100, 1]])
    turned = run("BBoxTransform", rois, f4([[0, 0, 0, 0, math.radians(30)]]), info, rotated=1)
    assert turned[0, 4] == pytest.approx(110 - 180, abs=1e-3)
    free = run("BBoxTransform", rois, f4([[0, 0, 0, 0, math.radians(30)]]), info, rotated=1, angle_bound_on=0)
    assert free[0, 4] == pytest.approx(110, abs=1e-3)


def test_overlaps_of_upright_and_rotated_boxes():
    upright = f4([[0, 0, 10, 10], [5, 0, 15, 10], [20, 20, 30, 30]])
    np.testing.assert_allclose(overlaps(np, upright, 0, np.array([1, 2]), 0), [50 / 150, 0], rtol=1e-5)
    rotated = f4([[5, 5, 10, 10, 0], [10, 5, 10, 10, 90], [5, 5, 10, 10, 45]])
    octagon = 100 * 2 * (math.sqrt(2) - 1)
    want = [50 / 150, octagon / (200 - octagon)]
    np.testing.assert_allclose(overlaps(np, rotated, 0, np.array([1, 2]), 0), want, rtol=1e-4)


BOXES = f4([[0, 0, 10, 10], [1, 0, 11, 10], [50, 50, 60, 60]])


def test_the_best_of_overlapping_boxes_is_kept():
    scores = f4([[0.1, 0.8], [0.1, 0.9], [0.1, 0.3]])
    boxes = np.concatenate([BOXES, BOXES], axis=1)
    made = run("BoxWithNMSLimit", scores, boxes, outputs=6, nms=0.5)
    kept_scores, kept_boxes, classes, splits, keeps, sizes = made
    np.testing.assert_allclose(kept_scores, [0.9, 0.3])
    assert kept_boxes.tolist() == BOXES[[1, 2]].tolist() and classes.tolist() == [1, 1]
    assert splits.tolist() == [2] and keeps.tolist() == [1, 2] and sizes.tolist() == [[0, 2]]
    best = run("BoxWithNMSLimit", scores, boxes, outputs=3, nms=0.5, detections_per_im=1)
    assert best[0].tolist() == [f4(0.9)]


def test_soft_thinning_lowers_scores():
    scores = f4([[0.1, 0.8], [0.1, 0.9], [0.1, 0.3]])
    boxes = np.concatenate([BOXES, BOXES], axis=1)
    for method in ("linear", "gaussian"):
        args = {"soft_nms_enabled": 1, "soft_nms_method": method, "score_thresh": 0.0}
        kept = run("BoxWithNMSLimit", scores, boxes, outputs=3, **args)[0]
        overlap = overlaps(np, BOXES, 1, np.array([0]), 1)[0]
        lowered = 0.8 * (1 - overlap if method == "linear" else math.exp(-(overlap**2) / 0.5))
        np.testing.assert_allclose(sorted(kept), sorted([0.9, lowered, 0.3]), rtol=1e-4)


def test_proposals_are_best_first_and_inside_the_picture():
    random = np.random.default_rng(0)
    scores = random.random((2, 3, 4, 5)).astype(f4)
    deltas = (random.normal(size=(2, 12, 4, 5)) / 10).astype(f4)
    anchors = f4([[-8, -8, 8, 8], [-16, -16, 16, 16], [-4, -8, 4, 8]])
    info = f4([[64, 80, 1], [64, 80, 1]])
    rois, chances = run("GenerateProposals", scores, deltas, info, anchors, outputs=2, post_nms_topN=5, min_size=2.0)
    assert rois.shape == (10, 5) and rois[:, 0].tolist() == [0] * 5 + [1] * 5
    assert (np.diff(chances[:5]) <= 0).all() and (rois[:, 1:] >= 0).all() and (rois[:, 3] <= 79).all()
    none = run("GenerateProposals", scores, deltas, info, anchors, outputs=2, min_size=500.0)
    assert none[0].shape == (0, 5)


def test_rotated_proposals():
    random = np.random.default_rng(0)
    scores = random.random((1, 1, 3, 3)).astype(f4)
    deltas = np.zeros((1, 5, 3, 3), f4)
    made = run("GenerateProposals", scores, deltas, f4([[64, 64, 1]]), f4([[8, 8, 12, 8, 30]]), outputs=2, min_size=2.0)
    assert made[0].shape == (9, 6) and made[1][0] == scores.max()


def test_levels_of_a_pyramid():
    rois = f4([[0, 0, 0, 223, 223], [0, 0, 0, 55, 55], [0, 0, 0, 447, 447]])
    made = run("DistributeFpnProposals", rois, outputs=5)
    assert [len(level) for level in made[:4]] == [1, 0, 1, 1]
    assert made[4].tolist() == [1, 0, 2] and made[4].dtype == np.int32
    collected = run("CollectRpnProposals", rois[:2], rois[2:], f4([1, 3]), f4([2]), rpn_min_level=2, rpn_max_level=3)
    assert collected.tolist() == rois[[1, 2, 0]].tolist()
    both = run(
        "CollectAndDistributeFpnRpnProposals",
        *(rois[:2], rois[2:], f4([1, 3]), f4([2])),
        outputs=6,
        rpn_min_level=2,
        rpn_max_level=3,
    )
    assert both[0].tolist() == collected.tolist() and [len(level) for level in both[1:5]] == [1, 0, 1, 1]
    with pytest.raises(ExecutionError, match="2 levels"):
        run("CollectRpnProposals", rois, f4([1, 2, 3]), rpn_min_level=2, rpn_max_level=3)


def test_keypoints_lie_on_the_top_of_the_surface():
    y, x = np.mgrid[:5, :5]
    hill = -((x - 2.25) ** 2) - (y - 1.5) ** 2
    maps, boxes = hill[None, None].astype(f4), f4([[10, 20, 20, 30]])
    found = run("HeatmapMaxKeypoint", maps, boxes)[0, :, 0]
    np.testing.assert_allclose(found, [10 + 2.75 * 2, 20 + 2 * 2, 0, 0], rtol=1e-4, atol=1e-4)
    chance = run("HeatmapMaxKeypoint", maps, boxes, should_output_softmax=1)[0, 3, 0]
    assert chance == pytest.approx(np.exp(hill.max()) / np.exp(hill).sum(), rel=1e-4)
