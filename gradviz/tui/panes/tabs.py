"""What stands on the tabs of the state pane: lines that are described when they come into sight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import Dense, Frontier, Map, Merge, PassThrough, Seed
from gradviz.tui import words
from gradviz.tui.panes.happened import gradient_text
from gradviz.tui.rows import Row, pad

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradviz.autodiff.generators import Generator
    from gradviz.autodiff.trace import Trace
    from gradviz.debug import Watch
    from gradviz.tui.desk import Desk

_MANY = 5000
"""More events than these since the last stop are not searched for changes: everything would be marked."""


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a tab.

    Attributes:
        row: describes it in so many columns.
        blob: the blob that it is about.
        event: the event to which it leads.
    """

    row: Callable[[int], Row]
    blob: str | None = None
    event: int | None = None


class Tab:
    """The lines of one tab; long lists behind the fixed ones are described one by one."""

    def __init__(self, head: list[Item], rest: Sequence[Any] = (), item: Callable[[Any], Item] | None = None) -> None:
        self._head = head
        self._rest = rest
        self._item = item

    def __len__(self) -> int:
        return len(self._head) + len(self._rest)

    def __getitem__(self, line: int) -> Item:
        if line < len(self._head):
            return self._head[line]
        assert self._item is not None
        return self._item(self._rest[line - len(self._head)])


def _text(text: str, role: str = "dim") -> Item:
    return Item(lambda width: [(text, role)])


def _pair(name: str, version: int | None, value: Row, mark: bool = False, blob: str | None = None) -> Item:
    """A blob with what is known of it, in two columns, marked where it is new."""

    def row(width: int) -> Row:
        left = min(max(width // 3, 8), 24)
        label = pad(words.blob(name, version, left), left)
        return [("+ " if mark else "  ", "accent"), (label, "accent" if mark else ""), (" ", ""), *value]

    return Item(row, name if blob is None else blob)


# Locals.


def locals_tab(desk: Desk) -> Tab:
    """What the visit of one operator holds."""
    if desk.opening is None:
        return Tab(_outside(desk))
    state, op = desk.state, desk.opening.op
    lines = [_text("g_output", "title")]
    for name, gradient in zip(op.outputs, state.g_output, strict=False):
        lines.append(_pair(name, None, [(gradient_text(gradient, 30), "strong" if gradient is not None else "dim")]))
    lines.append(_text("g_input", "title"))
    if not state.g_input:
        lines.append(_text("  –" if desk.opening.kind == "skip" else "  the rule was not asked yet"))
    for name, gradient in zip(op.inputs, state.g_input, strict=False):
        lines.append(_pair(name, None, [(gradient_text(gradient, 30), "strong" if gradient is not None else "dim")]))
    lines.append(_text("locally generated", "title"))
    lines += [_local(name) for name in state.locally_generated_blobs] or [_text("  –")]
    halves = [
        _sparse_half(blob, version, each)
        for blob, by_version in state.sparse_generators.items()
        for version, found in by_version.items()
        for each in found
    ]
    if halves:
        lines += [_text("halves of sparse gradients", "title"), *halves]
    return Tab(lines)


def _outside(desk: Desk) -> list[Item]:
    if desk.event.phase == "play":
        event: Any = desk.event
        reads = [_pair(*each, []) for each in zip(event.op.inputs, event.in_versions, strict=True)]
        writes = [
            _pair(*each, [("new", "dim")] if each[0] in event.added else [])
            for each in zip(event.op.outputs, event.out_versions, strict=True)
        ]
        return [_text("reads", "title"), *(reads or [_text("  –")]), _text("writes", "title"), *writes]
    lines = [_text("ys", "title")]
    for y in desk.trace.ys:
        known = desk.state.gradient_map.get(y)
        value: Row = [(gradient_text(known, 30), "strong")] if known is not None else [("not seeded yet", "dim")]
        lines.append(_pair(y, desk.recording.frontier.get(y), value))
    return lines


def _local(name: str) -> Item:
    return Item(lambda width: [("  ", ""), (words.blob(name, None, width - 2), "")], name)


def _sparse_half(blob: str, version: int, generator: Generator) -> Item:
    half = "indices" if generator.op_indices is not None else "values"
    name = getattr(generator.gradient, half)
    return _pair(blob, version, [(words.blob(name, None, 24), "strong"), (f" {half}", "dim")])


# Frontier.


def frontier_tab(desk: Desk) -> Tab:
    """Version frontier and gradient frontier side by side; what changed since the last stop is marked."""
    state = desk.state
    changed = _changed(desk, Frontier, Seed)
    own = _op_blobs(desk)
    versions, gradients = state.frontier, state.gradient_frontier

    def item(name: str) -> Item:
        version, gradient = versions.get(name), gradients.get(name)
        value: Row = [
            (f"{'–' if version is None else version:>7}", "dim" if version is None else ""),
            (f"{'–' if gradient is None else gradient:>9}", "dim" if gradient is None else "strong"),
        ]
        return _pair(name, None, value, name in changed)

    head = [Item(_frontier_head)]
    if own:
        head += [*map(item, own), _text("all blobs", "title")]
    return Tab(head, list(versions), item)


def _frontier_head(width: int) -> Row:
    return [(pad("  blob", min(max(width // 3, 8), 24) + 3), "title"), ("version gradient", "title")]


def _op_blobs(desk: Desk) -> list[str]:
    """The blobs of the operator at the cursor, each once."""
    op = desk.current_op
    if op is None:
        return list(desk.event.blobs)
    record = desk.op_record(op)
    return list(dict.fromkeys((*record.inputs, *record.outputs)))[:64]


def _changed(desk: Desk, *kinds: type) -> set[str]:
    """Blobs that events of these kinds touched since the last stop."""
    low, high = sorted((desk.before, desk.position))
    if high - low > _MANY:
        return set()
    events = desk.recording.events[low + 1 : high + 1]
    return {event.blobs[0] for event in events if isinstance(event, kinds)}


# Generators.


def generators_tab(desk: Desk) -> Tab:
    """Who makes gradients: those of the current operator's inputs, then all, the newest first."""
    recording = desk.recording
    head: list[Item] = []
    if desk.opening is not None:
        head = _own_generators(desk)
    marks = recording.generator_marks
    count = recording.generators.count(desk.position)
    changed = _changed(desk, Dense, Merge, PassThrough, Seed)

    def item(i: int) -> Item:
        mark = marks[count - 1 - i]
        event: Any = recording.events[mark]
        value = generator_row(desk, event.generator)
        made = _pair(event.blob, event.version, value, event.blob in changed and mark > desk.before)
        return Item(made.row, event.blob, mark)

    head.append(_text(f"all, newest first · {count:,}" if count else "no generator yet", "title"))
    return Tab(head, range(count), item)


def _own_generators(desk: Desk) -> list[Item]:
    opening = desk.opening
    assert opening is not None
    play = desk.index.play(opening.op_index)
    lines: list[Item] = []
    if play is None:
        return lines
    found = desk.state.gradient_generators
    for name, version in dict.fromkeys(zip(play.op.inputs, play.in_versions, strict=True)):
        uses = len(desk.index.readers(name, version)) + (name in desk.trace.ys and _is_y(desk, name, version))
        generators = found.get(name, {}).get(version, [])
        note: Row = [(f"{len(generators)} of {words.counted(uses, 'use')}", "dim")]
        lines.append(_pair(name, version, note))
        lines += [_indented(generator_row(desk, each), name) for each in generators]
    return lines[:200]


def _is_y(desk: Desk, name: str, version: int) -> bool:
    return desk.recording.frontier.get(name) == version


def _indented(row: Row, blob: str) -> Item:
    return Item(lambda width: [("    ", ""), *row], blob)


def generator_row(desk: Desk | Trace, generator: Generator) -> Row:
    """A generator: dense or sparse, gradient operator and output, device."""
    if generator.kind == "dense":
        return [*_place(desk, generator.op, generator.idx), (" dense", "dim"), *_device(generator)]
    if not generator.has_op:
        return [("sparse ", "warn"), ("passed on", "dim"), *_device(generator)]
    indices = _place(desk, generator.op_indices, generator.idx_indices)
    values = _place(desk, generator.op_values, generator.idx_values)
    return [("sparse ", "warn"), ("i ", "dim"), *indices, (" v ", "dim"), *values, *_device(generator)]


def _place(desk: Desk | Trace, op: int | None, output: int | None) -> Row:
    if op is None:
        return [("passed on", "dim")]
    type = words.shorten(words.shown(desk.recording.gradient_ops[op].type), 26)
    return [(f"{op} ", "dim"), (type, "kind"), (f":{output}", "dim")]


def _device(generator: Generator) -> Row:
    device = generator.device_option
    return [(f" device {device.device_type}:{device.device_id}", "warn")] if device.device_type else []


# Map.


def map_tab(desk: Desk) -> Tab:
    """Blob to gradient: the current operator's blobs, then all, the newest first."""
    gradients = desk.state.gradient_map
    changed = _changed(desk, Map, Seed)

    def item(name: str) -> Item:
        gradient = gradients.get(name)
        role = "strong" if gradient is not None else "dim"
        text = gradient_text(gradient, 40) if name in gradients else "not looked at"
        return _pair(name, None, [(text, role if name in gradients else "dim")], name in changed)

    own = _op_blobs(desk) if desk.opening is not None else []
    head = [item(name) for name in own]
    title = f"all, newest first · {len(gradients):,}" if gradients else "no blob has a gradient yet"
    return Tab([*head, _text(title, "title")], list(reversed(gradients)), item)


# Versions.


def shown_blob(desk: Desk) -> str | None:
    """The blob whose history is shown: the selected one, else the one that the event is about."""
    if desk.blob is not None:
        return desk.blob
    known = desk.recording.frontier
    named = [name for name in desk.event.blobs if name in known]
    return named[0] if named else next(iter(_op_blobs(desk)), None)


def versions_tab(desk: Desk) -> Tab:
    """A blob's history: who wrote each version, and who read it."""
    name = shown_blob(desk)
    if name is None:
        return Tab([_text("no blob here")])
    head = [Item(lambda width: [(words.blob(name, None, width), "strong")], name)]
    uses = desk.index.history(name)
    if not uses:
        return Tab([*head, _text("no forward op reads or writes it")])
    if not uses[0].writes:
        head.append(Item(lambda width: [("  ", ""), (words.subscript(0), "strong"), (" from outside", "dim")], name))
    gradient = desk.state.gradient_frontier.get(name)

    def item(use: Any) -> Item:
        return Item(lambda width: _use_row(desk, use, gradient), name)

    return Tab(head, uses, item)


def _use_row(desk: Desk, use: Any, gradient: int | None) -> Row:
    here = use.op == desk.current_op
    record = desk.op_record(use.op)
    row: Row = [
        ("▶ " if here else "  ", "accent"),
        (words.subscript(use.version), "strong" if use.writes else "dim"),
        (" written by " if use.writes else " read by    ", "" if use.writes else "dim"),
        (f"op {use.op} ", "dim"),
        (words.shown(record.type), "kind"),
    ]
    if use.writes and gradient == use.version:
        row.append((" ∂ newest gradient", "good"))
    return row


# Watches.


def watches_tab(desk: Desk) -> Tab:
    """Watched blobs with their present values."""
    watches = desk.session.watches
    if not watches:
        return Tab(
            [
                _text("w watches a blob: running stops"),
                _text("when its version, generators,"),
                _text("frontier or gradient change"),
            ]
        )
    lines: list[Item] = []
    for watch in watches:
        lines += _watch_items(desk, watch)
    return Tab(lines)


def _watch_items(desk: Desk, watch: Watch) -> list[Item]:
    version, frontier, generators, gradient = watch.value(desk.state)
    stop = desk.stop
    fired = stop.watch is watch and stop.before is not None
    old = stop.before if fired and stop.before is not None else (version, frontier, generators, gradient)
    values = (
        ("version", old[0], version),
        ("frontier", old[1], frontier),
        ("generators", _counted(old[2]), _counted(generators)),
        ("gradient", gradient_text(old[3]), gradient_text(gradient)),
    )
    name = watch.blob
    head = Item(
        lambda width: [
            ("+ " if fired else "  ", "accent"),
            (words.blob(name, None, width - 10), "strong"),
            ("" if watch.enabled else " off", "dim"),
        ],
        name,
    )
    return [head, *(_watch_item(name, *each) for each in values)]


def _watch_item(blob: str, what: str, old: Any, new: Any) -> Item:
    text = "–" if new is None else str(new)
    value: Row = [(text, "")] if old == new else [(f"{'–' if old is None else old} → ", "dim"), (text, "accent")]
    return Item(lambda width: [(f"    {what:<11}", "dim"), *value], blob)


def _counted(generators: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{count} of version {version}" for version, count in generators) or "–"
