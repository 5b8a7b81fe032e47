"""Edits of nets, of which remedies are made. All change the net they are handed; callers hand over a copy.

Names inside nested nets follow where they mean the same blob: the branches of If, the body and the condition of While,
and the step nets of recurrent networks run on the blobs around them; a Do binds its inner names itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops.arguments import arg
from gradviz.proto import OperatorDef

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from gradviz.autodiff.explain.scene import Site
    from gradviz.proto import DeviceOption, NetDef


def net_at(net: NetDef, site: Site) -> NetDef:
    """The nested net that stands at `site`.

    Raises:
        IndexError: there is none.
    """
    for op_index, label in site:
        found = next((argument.n for argument in net.op[op_index].arg if argument.name == label), None)
        if found is None:
            raise IndexError(label)
        net = found
    return net


# Names.


def names_in(net: NetDef) -> set[str]:
    """Every blob name that a net mentions, nested nets included."""
    found: set[str] = set()
    waiting = [net]
    while waiting:
        current = waiting.pop()
        found.update(current.external_input, current.external_output)
        for op in current.op:
            found.update(op.input, op.output)
            waiting.extend(_nested(op))
    return found


def fresh(net: NetDef, wanted: str) -> str:
    """`wanted`, with a number where the net knows the name or would give it to a gradient."""
    known = names_in(net)
    name, number = wanted, 1
    while name in known or f"{name}_grad" in known:
        number += 1
        name = f"{wanted}_{number}"
    return name


def _nested(op: OperatorDef) -> Iterator[NetDef]:
    for argument in op.arg:
        if argument.HasField("n"):
            yield argument.n
        yield from argument.nets


def rename(net: NetDef, old: str, new: str, writes: Collection[int], reads: Collection[int]) -> None:
    """Give some uses of a blob another name.

    Args:
        net: the net.
        old: the blob's name.
        new: the new name.
        writes: operators whose outputs are renamed.
        reads: operators whose inputs are renamed.
    """
    for index in {*writes, *reads}:
        op = net.op[index]
        if index in reads:
            op.input[:] = [new if name == old else name for name in op.input]
        if index in writes:
            op.output[:] = [new if name == old else name for name in op.output]
        if op.type != "Do":
            _rename_inside(op, old, new)


def _rename_inside(op: OperatorDef, old: str, new: str) -> None:
    waiting = [op]
    while waiting:
        current = waiting.pop()
        if current.type.startswith("RecurrentNetwork"):
            _rename_in_texts(current, old, new)
        for nested in _nested(current):
            for names in (nested.external_input, nested.external_output):
                names[:] = [new if name == old else name for name in names]
            for inner in nested.op:
                for names in (inner.input, inner.output):
                    names[:] = [new if name == old else name for name in names]
                if inner.type != "Do":
                    waiting.append(inner)


def _rename_in_texts(op: OperatorDef, old: str, new: str) -> None:
    """A recurrent network also names the blobs around it in lists of texts."""
    before, after = old.encode(), new.encode()
    for argument in op.arg:
        if argument.strings:
            argument.strings[:] = [after if text == before else text for text in argument.strings]
        elif argument.s == before:
            argument.s = after


def rename_external_output(net: NetDef, old: str, new: str) -> None:
    """Give an external output another name."""
    net.external_output[:] = [new if name == old else name for name in net.external_output]


# Operators.


def make_op(
    type: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    device: DeviceOption | None = None,
    **arguments: Any,
) -> OperatorDef:
    """An operator definition."""
    made = OperatorDef(type=type, name="", input=inputs, output=outputs)
    made.arg.extend(arg(key, value) for key, value in arguments.items())
    if device is not None:
        made.device_option.CopyFrom(device)
    return made


def insert(net: NetDef, index: int, *ops: OperatorDef) -> None:
    """Insert operators before the one at `index`."""
    rest = [_copied(op) for op in net.op[index:]]
    del net.op[index:]
    net.op.extend(ops)
    net.op.extend(rest)


def replace(net: NetDef, index: int, *ops: OperatorDef) -> None:
    """Put operators in the place of the one at `index`."""
    del net.op[index]
    insert(net, index, *ops)


def drop(net: NetDef, indices: Iterable[int]) -> None:
    """Take operators out."""
    for index in sorted(set(indices), reverse=True):
        del net.op[index]


def move(net: NetDef, index: int, before: int) -> None:
    """Move an operator in front of an earlier one."""
    moved = _copied(net.op[index])
    del net.op[index]
    insert(net, before, moved)


def _copied(op: OperatorDef) -> OperatorDef:
    made = OperatorDef()
    made.CopyFrom(op)
    return made


# Arguments.


def set_argument(op: OperatorDef, name: str, value: Any) -> None:
    """Set an argument, in its old place if it is there; doubles go."""
    drop_argument(op, name, keep_first=True)
    for argument in op.arg:
        if argument.name == name:
            argument.CopyFrom(arg(name, value))
            return
    op.arg.append(arg(name, value))


def drop_argument(op: OperatorDef, name: str, *, keep_first: bool = False, keep_last: bool = False) -> None:
    """Take an argument out, or all of its doubles but one."""
    found = [index for index, argument in enumerate(op.arg) if argument.name == name]
    if keep_first:
        found = found[1:]
    elif keep_last:
        found = found[:-1]
    for index in reversed(found):
        del op.arg[index]


def drop_stale_outputs(before: NetDef, after: NetDef) -> None:
    """Take external outputs out of `after` that an operator of `before` wrote and none writes any more."""
    written = {name for op in after.op for name in op.output}
    lost = {name for op in before.op for name in op.output} - written - set(after.external_input)
    if lost.intersection(after.external_output):
        after.external_output[:] = [name for name in after.external_output if name not in lost]
