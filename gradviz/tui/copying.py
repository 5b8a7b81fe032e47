"""What `p` copies: the selected operator as pbtxt, else the sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf import text_format

from gradviz.tui.panes.forward import ForwardPane
from gradviz.tui.panes.gradient import GradientPane
from gradviz.tui.panes.state import StatePane

if TYPE_CHECKING:
    from gradviz.tui.moving import Moving


def selection(screen: Moving) -> tuple[str, str]:
    """What is selected where the focus is: what it is called, and its text."""
    focused, desk = screen.focused, screen.desk
    if isinstance(focused, ForwardPane) and focused.count:
        return f"op {focused.op} as pbtxt", text_format.MessageToString(desk.op_record(focused.op).proto)
    if isinstance(focused, GradientPane) and focused.count:
        op = desk.recording.gradient_ops[focused.selected].to_proto(desk.state.outputs_of(focused.selected))
        return f"gradient op {focused.selected} as pbtxt", text_format.MessageToString(op)
    if isinstance(focused, StatePane) and focused.blob is not None:
        return "the blob's name", focused.blob
    return "the sentence", desk.event.sentence()
