"""The algorithm: versions, generators, frontiers and accumulation, as a stream of events."""

from gradviz.autodiff.gradient import gradient_of
from gradviz.autodiff.trace import Step, Trace, trace

__all__ = ["Step", "Trace", "gradient_of", "trace"]
