"""How far the walk is: the state of every forward operator, and which blobs an event is about."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import Fail, Finish, Make, Play, Skip

if TYPE_CHECKING:
    from gradviz.autodiff.events import Event
    from gradviz.autodiff.recording import Recording
    from gradviz.autodiff.trace import Trace
    from gradviz.render.graph import DrawnNet, Graph

STATES = ("waiting", "current", "done", "skipped", "stopped", "failed")


def forward_states(graph: Graph, trace: Trace, position: int) -> None:
    """Set the state of every forward operator as it is after the event at `position`."""
    nodes = graph.nodes
    for index, state in states_at(trace, position).items():
        nodes[f"op_{index}"]["state"] = state


def states_at(trace: Trace, position: int) -> dict[int, str]:
    """Index of each forward operator -> its state (one of `STATES`) after the event at `position`."""
    recording = trace.recording
    event = recording.events[position]
    last = recording.offset + len(recording.ops) - 1
    states = dict.fromkeys(range(recording.offset, last + 1), "waiting")
    for visit in range(bisect_right(recording.visits, position)):
        states[last - visit] = _visited(recording, recording.visits[visit])
    if event.op_index in states and not isinstance(event, Finish):
        states[event.op_index] = "failed" if isinstance(event, Fail) else "current"
    return states


def _visited(recording: Recording, first: int) -> str:
    if isinstance(recording.events[first], Skip):
        return "skipped"
    answer = recording.events[first + 1] if first + 1 < len(recording.events) else None
    if isinstance(answer, Make) and answer.op.inputs and all(gradient is None for gradient in answer.g_input):
        return "stopped"
    return "done"


def mark_forward_blobs(drawn: DrawnNet, event: Event) -> None:
    """Mark the versions of forward blobs that an event is about."""
    if isinstance(event, Play | Finish):
        return
    nodes = drawn.graph.nodes
    state = "failed" if isinstance(event, Fail) else "current"
    for name in event.blobs:
        blob = drawn.blobs.get((name, _version(drawn, event, name)))
        if blob is not None:
            nodes[blob]["state"] = state


def _version(drawn: DrawnNet, event: Event, name: str) -> int:
    """The version that an event means; the last one where it does not say."""
    of_event: Any = event
    if isinstance(event, Fail):
        found = event.error.facts.get("current")
    else:
        found = getattr(of_event, "version", getattr(of_event, "found", None))
    return found if isinstance(found, int) else drawn.last.get(name, 0)
