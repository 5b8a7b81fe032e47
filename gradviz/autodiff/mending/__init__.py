"""Remedies, one file for each way in which a walk can fail."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from gradviz.autodiff.mending import rules, stops, sums, versions
from gradviz.autodiff.mending.present import gradients_present
from gradviz.autodiff.mending.workshop import Workshop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradviz.autodiff.explain.scene import Scene
    from gradviz.autodiff.remedies import Remedy
    from gradviz.errors import GradientError

_MOST = 9

_BY_KIND: dict[str, Callable[[Workshop, GradientError], Iterator[Remedy]]] = {
    "AssertionError@merge_sparse": sums.unmerged,
    "IndexError@sanity_check": stops.without_output,
    "device_mismatch": sums.devices,
    "grad_version_mismatch": versions.remedies,
    "input_overwritten": versions.remedies,
    "mixed_sparse_dense": sums.mixed,
    "output_overwritten": versions.remedies,
    "stop_gradient_orphan": stops.orphan,
    "sum_conflict": sums.conflict,
}


def remedies_for(scene: Scene) -> tuple[Remedy, ...]:
    """What usually mends the error that stopped a walk, likeliest first.

    Args:
        scene: the scene in which the error arose; that of a nested net for an error inside it.
    """
    error = scene.error
    if error is None:
        return ()
    shop = Workshop(scene)
    find = _BY_KIND.get(error.kind)
    found = [*gradients_present(shop, error)]
    found += islice(find(shop, error), _MOST) if find is not None else ()
    if find is None or error.kind == "AssertionError@merge_sparse":
        found += islice(rules.remedies(shop, error), _MOST - len(found))
    while scene.around is not None and scene.site:
        index, scene = scene.site[-1][0], scene.around
        found += rules.around(Workshop(scene), index)
    return tuple(found)


__all__ = ["remedies_for"]
