"""Repairs of one operator's definition, tried out on its gradient rule before they are offered.

A definition may be wrong in several ways at once (it runs in place where it may not, and lacks an argument besides), so
a fix whose result is still refused is followed by the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradviz.autodiff.diagnosis import rule_raised
from gradviz.autodiff.explain.faults import Fault, faults
from gradviz.autodiff.explain.scene import capital, joined
from gradviz.autodiff.explain.type_names import gives_floats
from gradviz.autodiff.mending import edits
from gradviz.autodiff.mending.workshop import asks_for
from gradviz.errors import GradientError
from gradviz.ops.records import Op
from gradviz.ops.registry import lookup, make_gradient
from gradviz.proto import OperatorDef

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradviz.autodiff.mending.workshop import Workshop
    from gradviz.autodiff.remedies import Remedy, Ys
    from gradviz.proto import Argument, NetDef

_MOST_FIXES = 4
_MOST_OUTPUTS = 8
_FLOAT = 1
_INTEGER = {2: "INT32", 10: "INT64"}


@dataclass(frozen=True, slots=True)
class Fix:
    """One change to an operator.

    Attributes:
        label: what it does, as a command without the operator's name.
        why: what it means.
        on_op: makes it in the definition alone, for the trial.
        on_net: makes it in the net.
        ask: changes the ys, if it must.
    """

    label: str
    why: str
    on_op: Callable[[OperatorDef], None]
    on_net: Callable[[NetDef], None]
    ask: Callable[[Ys], Ys] | None = None


def repairs(shop: Workshop, index: int) -> Iterator[Remedy]:
    """Remedies that change the definition of one operator until its gradient rule takes it."""
    op = shop.scene.op(index)
    if op.type in ("If", "While", "Do"):
        return
    waiting: list[tuple[OperatorDef, tuple[Fix, ...]]] = [(op.proto, ())]
    while waiting:
        definition, fixes = waiting.pop(0)
        refusal = _refusal(shop, index, definition)
        if refusal is None:
            if fixes:
                yield _remedy(shop, index, fixes)
            continue
        if len(fixes) < _MOST_FIXES:
            further = _fixes(shop, index, definition, refusal)
            waiting += [(_changed(definition, fix.on_op), (*fixes, fix)) for fix in further]


def schema_remedies(shop: Workshop, index: int) -> Iterator[Remedy]:
    """Fixes of the first fault of a definition, whether or not a gradient is asked for."""
    op = shop.scene.op(index)
    for fault in faults(op)[:1]:
        for fix in _for_fault(shop, index, op, fault):
            yield _remedy(shop, index, (fix,))


def own_output_remedies(shop: Workshop, index: int) -> Iterator[Remedy]:
    """An output of its own for an operator that works in place, whatever its rule says."""
    op = shop.scene.op(index)
    for j, blob in enumerate(op.outputs):
        if blob in op.inputs:
            for fix in _own_output(shop, index, op, j):
                yield _remedy(shop, index, (fix,))


def later_refusals(shop: Workshop, index: int) -> list[str]:
    """What the rule would refuse next, fix after fix, once its first refusal is mended."""
    definition = shop.scene.op(index).proto
    refusal = None if definition.type in ("If", "While", "Do") else _refusal(shop, index, definition)
    found: list[str] = []
    while refusal is not None and len(found) < _MOST_FIXES:
        fix = next(_fixes(shop, index, definition, refusal), None)
        if fix is None:
            break
        definition = _changed(definition, fix.on_op)
        refusal = _refusal(shop, index, definition)
        if refusal is not None:
            found.append(str(refusal))
    return found


def _changed(definition: OperatorDef, change: Callable[[OperatorDef], None]) -> OperatorDef:
    made = OperatorDef()
    made.CopyFrom(definition)
    change(made)
    return made


def _refusal(shop: Workshop, index: int, definition: OperatorDef) -> GradientError | None:
    """Why the rule refuses the definition; None where it takes it."""
    g_output = [*shop.scene.g_output(index)]
    g_output += [None] * (len(definition.output) - len(g_output))
    try:
        make_gradient(Op(definition), g_output[: len(definition.output)])
    except GradientError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a rule from outside may raise anything
        return rule_raised(Op(definition), error)
    return None


def _remedy(shop: Workshop, index: int, fixes: tuple[Fix, ...]) -> Remedy:
    def edit(net: NetDef) -> None:
        for fix in fixes:
            fix.on_net(net)

    def ask(ys: Ys) -> Ys:
        for fix in fixes:
            ys = ys if fix.ask is None else fix.ask(ys)
        return ys

    title = f"{joined([fix.label for fix in fixes])} in {shop.scene.named(index)}"
    asks = ask if any(fix.ask is not None for fix in fixes) else None
    return shop.remedy(capital(title), " ".join(fix.why for fix in fixes if fix.why), edit, asks)


def _fixes(shop: Workshop, index: int, definition: OperatorDef, refusal: GradientError) -> Iterator[Fix]:
    op = Op(definition)
    found = faults(op)
    if refusal.kind == "schema" and found:
        yield from _for_fault(shop, index, op, found[0])
        return
    if refusal.kind != "make_gradient_other":
        return
    argument = refusal.facts.get("argument")
    if isinstance(argument, str):
        yield from _for_argument(shop, index, op, argument)
    blob = refusal.facts.get("blob")
    if isinstance(blob, str) and blob in op.inputs and blob in op.outputs:
        yield from _own_output(shop, index, op, op.outputs.index(blob))
    if op.type == "SpatialBN" and not isinstance(argument, str):
        yield from _other_mode(index, op)
    if op.type == "Cast":
        yield from _from_type(shop, index, op)
    if op.type == "RecurrentNetwork":
        yield from _outputs_with_grads(shop, index)
    yield from _more_outputs(shop, index, op)


# What the schema forbids.


def _for_fault(shop: Workshop, index: int, op: Op, fault: Fault) -> Iterator[Fix]:
    if fault.kind == "argument":
        yield from _missing(index, op, fault.name)
    elif fault.kind == "in_place":
        yield from _own_output(shop, index, op, fault.j)
    elif fault.kind == "bound":
        yield from _bound(shop, index, op, fault)
    elif fault.kind in ("few_outputs", "combination") and fault.count > len(op.outputs):
        yield _add_outputs(shop, index, op, fault.count)
    elif fault.kind in ("many_outputs", "combination") and fault.count < len(op.outputs):
        yield from _fewer_outputs(shop, index, op, fault.count)
    elif fault.kind == "many_inputs":
        count = fault.count
        yield _both(
            index, f"drop the surplus inputs {joined(op.inputs[count:])}", "", lambda made: _cut(made.input, count)
        )


def _missing(index: int, op: Op, name: str) -> Iterator[Fix]:
    if name != "is_test":
        return
    training = ("training; in old nets a missing is_test meant this", 0)
    testing = ("test: the net is only run", 1)
    first = testing if op.type == "SpatialBN" and len(op.outputs) == 1 else training
    for meaning, value in (first, testing if first is training else training):
        yield _both(
            index,
            f"set is_test={value}",
            f"{value} means {meaning}.",
            lambda made, value=value: edits.set_argument(made, name, value),  # type: ignore[misc]
        )


def _own_output(shop: Workshop, index: int, op: Op, j: int) -> Iterator[Fix]:
    """The output gets a name of its own, and everything after it follows."""
    scene, blob = shop.scene, op.outputs[j]
    later = [each for each in scene.history(blob) if each.writer is not None and each.writer >= index]
    writes = [each.writer for each in later if each.writer is not None]
    reads = sorted({reader for each in later for reader in each.readers if reader != index})
    asked = scene.is_y(blob)
    if (asked and shop.nested) or not shop.renameable(blob, writes, reads):
        return
    new = shop.fresh(f"{blob}_{op.type.lower()}")

    def on_net(net: NetDef) -> None:
        edits.rename(net, blob, new, writes, reads)
        edits.rename_external_output(net, blob, new)

    def on_op(made: OperatorDef) -> None:
        made.output[:] = [new if name == blob else name for name in made.output]

    told = f"The y is then {new}." if asked else f"What reads {blob} from there on reads {new}."
    yield Fix(f"give the output the name {new}", told, on_op, on_net, asks_for(blob, new) if asked else None)


def _bound(shop: Workshop, index: int, op: Op, fault: Fault) -> Iterator[Fix]:
    scene, source, target = shop.scene, op.inputs[fault.i], op.outputs[fault.j]
    if target not in scene.writes(index):
        return
    reads = scene.readers(target, scene.writes(index)[target])

    def on_op(made: OperatorDef) -> None:
        made.output[fault.j] = source

    def on_net(net: NetDef) -> None:
        edits.rename(net, target, source, (), reads)
        on_op(net.op[index])

    yield Fix(
        f"let output {fault.j} be {source} itself", "The schema demands it: it is updated in place.", on_op, on_net
    )


def _add_outputs(shop: Workshop, index: int, op: Op, count: int) -> Fix:
    base = op.outputs[0] if op.outputs else (op.inputs[0] if op.inputs else op.type.lower())
    second = "mask" if op.type == "Dropout" else "extra"
    names = [_bound_to(op, j) or shop.fresh(f"{base}_{second}") for j in range(len(op.outputs), count)]
    word = "output" if len(names) == 1 else "outputs"
    return _both(index, f"add the {word} {joined(names)}", "", lambda made: made.output.extend(names))


def _bound_to(op: Op, j: int) -> str:
    """The input that output `j` has to be, by the schema; empty where it may have a name of its own."""
    known = lookup(op.type)
    rule = known.schema.enforced if known is not None else ()
    bound = [name for i, name in enumerate(op.inputs) if (rule(i, j) if callable(rule) else (i, j) in rule)]
    return bound[0] if bound else ""


def _fewer_outputs(shop: Workshop, index: int, op: Op, count: int) -> Iterator[Fix]:
    scene = shop.scene
    surplus = op.outputs[count:]
    written = scene.writes(index)
    if any(name in written and (scene.readers(name, written[name]) or scene.is_y(name)) for name in surplus):
        return
    yield _both(index, f"drop the unread {joined(surplus)}", "", lambda made: _cut(made.output, count))


def _cut(names: object, count: int) -> None:
    del names[count:]  # type: ignore[attr-defined]


def _both(index: int, label: str, why: str, change: Callable[[OperatorDef], None]) -> Fix:
    return Fix(label, why, change, lambda net: change(net.op[index]))


# What rules ask for beside the schema.


def _for_argument(shop: Workshop, index: int, op: Op, name: str) -> Iterator[Fix]:
    found = [argument for argument in op.proto.arg if argument.name == name]
    if len(found) > 1:
        for which, keep in (("first", {"keep_first": True}), ("last", {"keep_last": True})):
            yield _both(
                index,
                f"keep the {which} of the {len(found)} arguments {name}",
                "",
                lambda made, keep=keep: edits.drop_argument(made, name, **keep),  # type: ignore[misc]
            )
    elif len(found) == 1:
        value = _as_integer(found[0])
        if value is not None:
            why = "The number stood in the field for another type."
            yield _both(index, f"write {name}={value}", why, lambda made: edits.set_argument(made, name, value))


def _as_integer(argument: Argument) -> int | None:
    if argument.HasField("f") and float(argument.f).is_integer():
        return int(argument.f)
    if argument.HasField("s"):
        text = argument.s.decode("utf-8", "replace").strip().lower()
        known = {"true": 1, "false": 0}
        return known.get(text, int(text) if text.lstrip("-").isdigit() else None)
    return argument.ints[0] if len(argument.ints) == 1 else None


def _other_mode(index: int, op: Op) -> Iterator[Fix]:
    """Training and test mode have different numbers of outputs."""
    testing = any(each.name == "is_test" and each.i for each in op.proto.arg)
    value, meaning = (0, "training") if testing else (1, "test")
    why = f"{value} means {meaning}, which goes with {len(op.outputs)} output{'' if len(op.outputs) == 1 else 's'}."
    yield _both(index, f"set is_test={value}", why, lambda made: edits.set_argument(made, "is_test", value))


def _from_type(shop: Workshop, index: int, op: Op) -> Iterator[Fix]:
    given = [argument for argument in op.proto.arg if argument.name == "from_type"]
    if given:
        yield from _for_argument(shop, index, op, "from_type")
        return
    scene, blob = shop.scene, op.inputs[0]
    writer = scene.writer(blob, scene.reads(index).get(blob, 0))
    sure = writer is not None and gives_floats(scene.op(writer).type)
    why = (
        f"{blob} is float, as {scene.named(writer)} writes it."
        if sure and writer is not None
        else (f"This takes {blob} for float; another type needs another number.")
    )
    yield _both(index, "set from_type=FLOAT", why, lambda made: edits.set_argument(made, "from_type", _FLOAT))


def _outputs_with_grads(shop: Workshop, index: int) -> Iterator[Fix]:
    arriving = [i for i, gradient in enumerate(shop.scene.g_output(index)) if isinstance(gradient, str)]
    if arriving:
        why = "These are the outputs at which a gradient arrives."
        yield _both(
            index,
            f"set outputs_with_grads={arriving}",
            why,
            lambda made: edits.set_argument(made, "outputs_with_grads", arriving),
        )


def _more_outputs(shop: Workshop, index: int, op: Op) -> Iterator[Fix]:
    """The rule may read an output that the definition leaves out, such as the mask of a Dropout."""
    known = lookup(op.type)
    if known is None or not known.schema.checked:
        return
    most = min(known.schema.outputs[1], len(op.outputs) + _MOST_OUTPUTS)
    for count in range(len(op.outputs) + 1, most + 1):
        fix = _add_outputs(shop, index, op, count)
        if _refusal(shop, index, _changed(op.proto, fix.on_op)) is None:
            yield fix
            return
