"""The algorithm: versions, generators, frontiers and accumulation, as a stream of events; and what explains it."""

from gradviz.autodiff.explain.story import Story
from gradviz.autodiff.gradient import gradient_of
from gradviz.autodiff.lint import Finding, lint
from gradviz.autodiff.remedies import Remedy, mend, proves
from gradviz.autodiff.trace import Step, Trace, trace
from gradviz.autodiff.why import why

__all__ = [
    "Finding",
    "Remedy",
    "Step",
    "Story",
    "Trace",
    "gradient_of",
    "lint",
    "mend",
    "proves",
    "trace",
    "why",
]
