"""gradviz: a debugger for gradient generation in Caffe2 nets.

Everything public is here, loaded when it is first used, so that `import gradviz` stays cheap:

    model = gradviz.load("model.pb")
    trace = gradviz.trace(model, ys=["loss"])
    for event in trace.events:
        print(event.sentence())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "BlobReference": "gradviz.ops.records",
    "ExecutionError": "gradviz.errors",
    "GradientError": "gradviz.errors",
    "GradientSlice": "gradviz.ops.records",
    "GradvizError": "gradviz.errors",
    "LoadError": "gradviz.errors",
    "Model": "gradviz.nets",
    "NetBuilder": "gradviz.nets",
    "Session": "gradviz.debug",
    "State": "gradviz.autodiff.state",
    "Step": "gradviz.autodiff",
    "Trace": "gradviz.autodiff",
    "Workspace": "gradviz.execute",
    "check_gradients": "gradviz.execute",
    "compare": "gradviz.execute",
    "gradient_of": "gradviz.autodiff",
    "load": "gradviz.nets",
    "register": "gradviz.ops.registry",
    "run": "gradviz.execute",
    "run_op": "gradviz.execute",
    "save": "gradviz.nets",
    "trace": "gradviz.autodiff",
    "why": "gradviz.autodiff.why",
}
_FOLDERS = ("autodiff", "debug", "execute", "nets", "ops", "proto", "render")

__all__ = ["__version__", *_HOMES, *_FOLDERS]

if TYPE_CHECKING:
    from gradviz import autodiff, debug, execute, nets, ops, proto, render
    from gradviz.autodiff import Step, Trace, gradient_of, trace
    from gradviz.autodiff.state import State
    from gradviz.autodiff.why import why
    from gradviz.debug import Session
    from gradviz.errors import ExecutionError, GradientError, GradvizError, LoadError
    from gradviz.execute import Workspace, check_gradients, compare, run, run_op
    from gradviz.nets import Model, NetBuilder, load, save
    from gradviz.ops.records import BlobReference, GradientSlice
    from gradviz.ops.registry import register


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _FOLDERS:
        value = import_module(f"gradviz.{name}")
    else:
        raise AttributeError(f"module 'gradviz' has no attribute {name!r}")
    globals()[name] = value
    import_module("gradviz.render.notebook").install()  # classes that were loaded just now show themselves in notebooks
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
