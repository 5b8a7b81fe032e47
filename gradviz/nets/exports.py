"""Files that hold more than a net: plans, predictor exports, single operators; which net of them is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.errors import LoadError
from gradviz.nets import init_nets
from gradviz.nets.model import Model, SeveralNetsError
from gradviz.nets.words import count, listed, nearest, plain, quoted
from gradviz.proto import MetaNetDef, NetDef, OperatorDef, PlanDef

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradviz.nets.contents import Contents

_PREDICT = "PREDICT_NET_TYPE"
_INPUTS, _OUTPUTS = "INPUTS_BLOB_TYPE", "OUTPUTS_BLOB_TYPE"


def model_of(contents: Contents, name: str, choose: str | None) -> Model:
    """The net that is meant in a file's contents, with the init nets and tensors that belong to it.

    Args:
        contents: what a reader found.
        name: how messages call the file.
        choose: the name of a net of a plan or an export (there also its key).

    Raises:
        SeveralNetsError: there are several nets, and none was chosen.
        LoadError: there is no net, or none of the chosen name.
    """
    message = contents.message
    if isinstance(message, PlanDef):
        model = _of_plan(message, name, choose)
    elif isinstance(message, MetaNetDef):
        model = _of_export(message, name, choose, contents)
    else:
        net = _one_operator(message) if isinstance(message, OperatorDef) else message
        if choose is not None and choose != net.name:
            raise LoadError(f"{name} holds one net, called {quoted(net.name)}: there is none called {quoted(choose)}")
        model = Model(net)
        if isinstance(message, OperatorDef):
            model.notices.append("it is a single operator, opened as a net of its own")
    model.format = contents.format
    model.notices = [*contents.notices, *model.notices]
    model.parameters = contents.tensors
    return model


def _one_operator(op: OperatorDef) -> NetDef:
    net = NetDef(name=op.name or op.type, op=[op])
    net.external_input.extend(dict.fromkeys(op.input))
    net.external_output.extend(dict.fromkeys(op.output))
    return net


def _of_plan(plan: PlanDef, name: str, choose: str | None) -> Model:
    if not plan.network:
        raise LoadError(f"{name} is a plan (PlanDef) without nets: there is nothing to open")
    nets = _by_name(plan.network)
    key = _chosen(nets, choose, f"{name} is a plan of {count(len(nets), 'net')}")
    model = Model(nets[key], init=_init(nets, key))
    steps = count(len(plan.execution_step), "execution step")
    model.notices.append(
        f"it is a plan of {count(len(nets), 'net')} and {steps}: opened is its net {_sized(key, nets)}"
    )
    return model


def _of_export(meta: MetaNetDef, name: str, choose: str | None, contents: Contents) -> Model:
    nets = {entry.key: entry.value for entry in meta.nets}
    for plan in meta.plans:
        nets.update({f"{plan.key}/{each.name}": each for each in plan.value.network})
    if not nets:
        raise LoadError(f"{name} is a predictor export (MetaNetDef) without nets: there is nothing to open")
    if choose is None and _PREDICT in nets:
        key = _PREDICT
    else:
        keys = {key if choose == key else nets[key].name or key: key for key in nets}
        key = keys[
            _chosen({each: nets[keys[each]] for each in keys}, choose, f"{name} is an export of {len(nets)} nets")
        ]
    blobs = {entry.key: list(entry.value) for entry in meta.blobs}
    inits = [net for other, net in nets.items() if other != key and "INIT_NET" in other.upper()]
    model = Model(nets[key], init=init_nets.merge(inits, filled=contents.tensors))
    model.inputs, model.outputs = blobs.get(_INPUTS, []), blobs.get(_OUTPUTS, [])
    model.notices.append(f"it is a predictor export of {count(len(nets), 'net')}: opened is {_sized(key, nets)}")
    return model


def _chosen(nets: dict[str, NetDef], choose: str | None, what: str) -> str:
    """The key of the net that is meant: the one chosen, else the only one that is no init net."""
    if choose is not None:
        if choose in nets:
            return choose
        near = nearest(choose, nets) or list(nets)
        raise LoadError(f"{what}, and none is called {quoted(choose)}: there is {listed(near)}")
    working = [key for key, net in nets.items() if not init_nets.is_init(net)] or list(nets)
    if len(working) > 1:
        sizes = listed(_sized(key, nets) for key in working)
        raise SeveralNetsError(f"{what}: choose one by its name (net=...), of {sizes}", working)
    return working[0]


def _by_name(nets: Iterable[NetDef]) -> dict[str, NetDef]:
    """Nets by name; one without a name, or with one that is taken, is called by its number."""
    found: dict[str, NetDef] = {}
    for index, net in enumerate(nets):
        found[net.name if net.name and net.name not in found else f"{net.name}#{index}"] = net
    return found


def _init(nets: dict[str, NetDef], key: str) -> NetDef | None:
    """The init nets of a plan, as one."""
    return init_nets.merge(net for other, net in nets.items() if other != key and init_nets.is_init(net))


def _sized(key: str, nets: dict[str, NetDef]) -> str:
    return f"{plain(key)} ({count(len(nets[key].op), 'operator')})"
