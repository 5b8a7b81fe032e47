"""Every key of the debug screen in one table: bindings, help, hints and the command palette are made from it."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from textual.binding import Binding

Hints: TypeAlias = "tuple[tuple[str, str, str], ...]"
"""Key, word and action of each hint."""


class Key(NamedTuple):
    """One thing that can be done.

    Attributes:
        keys: the keys that do it, separated by commas, as Textual names them.
        action: the action of the debug screen.
        title: what it is called in the palette and the help.
        tooltip: what it does, in one sentence.
        group: the heading under which the help lists it.
        shown: how the help writes its keys; made from `keys` where empty.
    """

    keys: str
    action: str
    title: str
    tooltip: str
    group: str
    shown: str = ""

    @property
    def id(self) -> str:
        """The id by which it can be bound to other keys."""
        return "debug." + self.action.replace("(", ".").replace("'", "").replace(")", "").replace(", ", ".")

    @property
    def written(self) -> str:
        """Its keys for readers."""
        return self.shown or " ".join(self.keys.split(","))


_FORWARD, _BACK = "Forwards", "Backwards"
_STOPS, _FIND, _OPEN, _VIEW = "Breakpoints and watches", "Finding", "Screens", "View"

KEYS: tuple[Key, ...] = (
    Key("n,space,right", "step", "Step", "One event forward", _FORWARD, "n space →"),
    Key("s", "phase", "Next phase", "To the next phase", _FORWARD),
    Key("o", "op", "Next op", "To the next forward op", _FORWARD),
    Key("f", "out", "Finish op", "To the end of this op", _FORWARD),
    Key("c", "run", "Run", "Run to the next breakpoint, watch, error or the end", _FORWARD),
    Key("end", "last", "Last event", "To the last event", _FORWARD),
    Key("t", "run_to", "Run to here", "Run to the op under the cursor, in whichever direction it lies", _FORWARD),
    Key("N,left", "back", "Step back", "One event back", _BACK, "N ←"),
    Key("S", "phase_back", "Phase back", "To the phase before", _BACK),
    Key("O", "op_back", "Op back", "To the op before", _BACK),
    Key("F", "start", "Start of op", "To the start of this op", _BACK),
    Key("C", "run_back", "Run back", "Run back to the breakpoint or watch before, or to the start", _BACK),
    Key("home", "first", "First event", "To the first event", _BACK),
    Key("b", "breakpoint", "Toggle breakpoint", "Set or remove a breakpoint on the selected op or blob", _STOPS),
    Key("B", "breakpoints", "Breakpoints", "All breakpoints: add, edit, condition, switch off, ignore hits", _STOPS),
    Key("w", "watch", "Watch a blob", "Stop when a blob's version, generators, frontier or gradient change", _STOPS),
    Key("W", "why", "Why", "Why a blob has a gradient or none, why a Sum, a name, a version, a skipped op", _FIND),
    Key("g", "goto", "Go to", "Go to an op or an event by its number", _FIND),
    Key("slash", "find", "Find", "Find an op by type, name, blob or debug info (a regular expression)", _FIND, "/"),
    Key("asterisk", "find_next", "Find next", "The next op that matches", _FIND, "*"),
    Key("number_sign", "find_previous", "Find previous", "The op before that matches", _FIND, "#"),
    Key("i", "into", "Into a nested net", "Debug a nested net that this op's gradient walked through", _OPEN),
    Key("u", "up", "Up to the outer net", "Back to the net around this one", _OPEN),
    Key("enter", "open", "Open", "Open the diagnosis of a failure", _FIND),
    Key("x", "values", "Values", "Run the net and look at its values", _OPEN),
    Key("d", "diff", "Diff", "What changed since the marked event, or else since the last stop", _OPEN),
    Key("m", "mark", "Mark", "Mark this event, to compare others with it; again: take the mark away", _OPEN),
    Key("y", "ys", "Choose ys", "Choose what the gradient is asked of, and walk again", _OPEN),
    Key("e", "export", "Export", "Write a picture or text of the nets at this event", _OPEN),
    Key("p", "copy", "Copy", "Copy what is selected: an op as pbtxt, else the sentence", _OPEN),
    Key("question_mark,h,f1", "help", "Help", "The keys, and what the panes show", _OPEN, "? h F1"),
    Key("q", "leave", "Quit", "Leave; breakpoints, watches and the place are kept for the next time", _OPEN),
    Key("z", "fold", "Fold", "Fold or unfold a phase of the algorithm", _VIEW),
    Key("plus", "hops(1)", "Wider graph", "Let the graph reach one op further", _VIEW, "+"),
    Key("minus", "hops(-1)", "Narrower graph", "Let the graph reach one op less far", _VIEW, "-"),
    Key("G", "drawing", "Draw the net", "The net as a drawing on a screen of its own", _VIEW),
    Key("alt+1", "pane('forward')", "Pane: forward net", "Jump to the forward net", _VIEW),
    Key("alt+2", "pane('algorithm')", "Pane: algorithm", "Jump to the algorithm", _VIEW),
    Key("alt+3", "pane('state')", "Pane: state", "Jump to the state, or to its next tab", _VIEW),
    Key("alt+4", "pane('gradient')", "Pane: gradient net", "Jump to the gradient net", _VIEW),
    Key("alt+5", "pane('graph')", "Pane: graph", "Jump to the graph", _VIEW),
    Key("alt+6", "pane('timeline')", "Pane: timeline", "Jump to the timeline", _VIEW),
    Key("tab", "turn(1)", "Next pane", "To the next pane", _VIEW),
    Key("shift+tab", "turn(-1)", "Previous pane", "To the pane before", _VIEW),
    Key("escape", "escape", "Back", "Forget a count, leave a pane, back to the current op", _VIEW, "esc"),
    Key("up", "look(-1)", "Op above", "Select the op above", _VIEW, "↑"),
    Key("down", "look(1)", "Op below", "Select the op below", _VIEW, "↓"),
)

GROUPS = (_FORWARD, _BACK, _STOPS, _FIND, _OPEN, _VIEW)

BINDINGS = [Binding(key.keys, key.action, key.title, show=False, tooltip=key.tooltip, id=key.id) for key in KEYS]

HINTS: Hints = (
    ("n", "step", "step"),
    ("N", "back", "back"),
    ("o", "op", "op"),
    ("O", "back", "op_back"),
    ("c", "run", "run"),
    ("C", "back", "run_back"),
    ("b", "break", "breakpoint"),
    ("W", "why", "why"),
    ("/", "find", "find"),
    ("x", "values", "values"),
    ("y", "ys", "ys"),
    ("e", "export", "export"),
    ("g", "go to", "goto"),
    ("w", "watch", "watch"),
    ("s", "phase", "phase"),
    ("f", "finish op", "out"),
    ("t", "to here", "run_to"),
    ("d", "diff", "diff"),
    ("m", "mark", "mark"),
)
"""What the last line offers: key, word, action; the first ones stay longest where room is scarce."""

TAIL: Hints = (("?", "help", "help"), ("q", "quit", "leave"))
