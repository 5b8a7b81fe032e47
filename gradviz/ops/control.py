"""Control flow: nets inside nets.

The gradient of If, While and Do is a net inside a net again, made by a backward walk over the nested net. That walk is
handed to the rules as a `Nest`, because the algorithm stands above the operators. Where upstream goes through sets of
names, the order here is the order in which names come first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from gradviz.errors import GradientError
from gradviz.ops._arrays import on_host
from gradviz.ops._checks import require, require_same_dtype, require_same_shape
from gradviz.ops.arguments import arg
from gradviz.ops.dtypes import expect
from gradviz.ops.records import GradientOp
from gradviz.ops.registry import NONE, SHOULD_NOT, kernel, operator
from gradviz.ops.schema import MANY
from gradviz.proto import NetDef, OperatorDef

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gradviz.ops.records import Gradient, Op
    from gradviz.proto import Argument, DeviceOption

INNER_GRADIENT = "/_DO_OPERATOR_INNER_GRAD_"
"""Suffix of the name under which a Do's inner net knows the gradient of one of its outputs."""

INNER_COPY = "/_DO_OPERATOR_INNER_GRAD_COPY_"
"""Suffix of the copies through which gradients of a Do's inputs leave the inner net."""

Answer = tuple[list[GradientOp], "list[Gradient]"]


class Nest(Protocol):
    """What a rule needs to know of the walk that asks it.

    Attributes:
        name_scope: the name scope in force, with its final `/`.
        device_scope: the device option in force.
        net_names: names of nets made so far; upstream never gives a name twice in a process.
    """

    name_scope: str
    device_scope: DeviceOption | None
    net_names: set[str]

    def walk(self, label: str, net: NetDef, ys: Mapping[str, str]) -> tuple[list[OperatorDef], dict[str, str]]:
        """Walk a nested net backwards: its gradient operators, and the gradient of each blob as text."""
        ...


def rename_in_branches(op: OperatorDef, old: str, new: str) -> None:
    """Rename what the branches of a gradient If write, so that accumulation can rename an output of the If."""
    for argument in op.arg:
        if argument.name in ("then_net", "else_net"):
            for inner in argument.n.op:
                inner.output[:] = [new if name == old else name for name in inner.output]


# What the three rules share.


def _demand(condition: object, reason: str) -> None:
    """Refuse as upstream does, which asserts."""
    if not condition:
        raise GradientError(reason, kind="AssertionError@make_gradient")


def _nested_net(op: OperatorDef, name: str) -> NetDef | None:
    return next((argument.n for argument in op.arg if argument.name == name), None)


def _apart(op: Op, g_output: Sequence[Gradient]) -> tuple[list[OperatorDef], list[Gradient]]:
    """Inner and outer names must match one to one, so a gradient that serves two outputs is copied for the second."""
    copies: list[OperatorDef] = []
    apart: list[Gradient] = []
    first: dict[str, Gradient] = {}
    for output, gradient in zip(op.outputs, g_output, strict=True):
        if not gradient:
            apart.append(gradient)
            continue
        if output not in first:
            if gradient in apart:
                if not isinstance(gradient, str):
                    raise GradientError("a sparse gradient cannot be copied", kind="TypeError@make_gradient")
                name = f"{output}_{gradient}_DEDUP"
                _demand(name not in apart, f"the name {name} of a copied gradient is taken")
                copies.append(OperatorDef(type="Copy", input=[gradient], output=[name]))
                first[output] = name
            else:
                first[output] = gradient
        apart.append(first[output])
    return copies, apart


def _by_output(op: Op, g_output: Sequence[Gradient]) -> dict[str, str]:
    return {name: _text(gradient) for name, gradient in zip(op.outputs, g_output, strict=True) if gradient}


def _text(gradient: Gradient) -> str:
    """A gradient as text; upstream spells a slice out and takes that for a name."""
    return gradient if isinstance(gradient, str) else str(gradient)


def _gradient_net(net: NetDef, ops: Iterable[OperatorDef], suffix: str = "_grad") -> NetDef:
    made = NetDef()
    made.CopyFrom(net)
    if made.name:
        made.name += suffix
    for field in ("op", "external_input", "external_output"):
        made.ClearField(field)
    made.op.extend(ops)
    return made


def _gradient_definition(op: Op, inputs: Iterable[str], outputs: Iterable[str], args: list[Argument]) -> OperatorDef:
    """The gradient operator is the forward one with other blobs and arguments; it keeps device, engine, debug info."""
    made = OperatorDef()
    made.CopyFrom(op.proto)
    if made.name:
        made.name += "_grad"
    for field in ("arg", "control_input"):
        made.ClearField(field)
    made.input[:] = inputs
    made.output[:] = outputs
    made.arg.extend(args)
    made.is_gradient_op = True
    return made


class _Branch:
    """The gradient of one nested net that runs in the outer workspace.

    Attributes:
        net: the gradient net.
        gradients: blob -> gradient.
        reads: blobs that it reads before it writes them.
        writes: blobs that it writes.
    """

    def __init__(self, nest: Nest, label: str, net: NetDef, seeds: Mapping[str, str]) -> None:
        ops, self.gradients = nest.walk(label, net, seeds)
        self.net = _gradient_net(net, ops)
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}
        for op in ops:
            self.reads.update((name, None) for name in op.input if name not in self.writes)
            self.writes.update(dict.fromkeys(op.output))


# If.


def _if_gradient(op: Op, g_output: Sequence[Gradient], nest: Nest) -> Answer:
    _demand(op.inputs, "an If needs its condition as first input")
    _demand(len(op.outputs) == len(g_output), "an If needs as many gradients as it has outputs")
    copies, g_output = _apart(op, g_output)
    seeds = _by_output(op, g_output)
    _demand(seeds, "none of the If's outputs has a gradient")
    then_net, else_net = _nested_net(op.proto, "then_net"), _nested_net(op.proto, "else_net")
    if then_net is None:
        raise GradientError("an If needs a then_net", kind="AssertionError@make_gradient")
    then = _Branch(nest, "then_net", then_net, seeds)
    other = None if else_net is None else _Branch(nest, "else_net", else_net, seeds)
    gradients = _joined(then, other, seeds)
    nets = _filled_up(then, other, seeds)
    reads = {**then.reads, **(other.reads if other else {})}
    writes = {**then.writes, **(other.writes if other else {})}
    condition = op.inputs[0]
    # Upstream subtracts the set of the letters of the condition's name, not the name.
    inputs = [condition, *(name for name in reads if name not in set(condition))]
    made = _gradient_definition(op, inputs, writes, [arg(name, net) for name, net in nets.items()])
    ops = [GradientOp.from_proto(each) for each in (*copies, made)]
    return ops, [gradients.get(name) for name in op.inputs]


def _joined(then: _Branch, other: _Branch | None, seeds: Mapping[str, str]) -> dict[str, str]:
    """Gradients of both branches; where only one branch changed a gradient, its name counts."""
    gradients = dict(then.gradients)
    for blob, theirs in other.gradients.items() if other else ():
        ours = then.gradients.get(blob)
        if ours is None or ours in {theirs, seeds.get(blob)}:
            gradients[blob] = theirs
        elif theirs != seeds.get(blob):
            reason = f"the branches call the gradient of {blob} {ours} and {theirs}"
            raise GradientError(reason, kind="TypeError@make_gradient")
    return gradients


def _filled_up(then: _Branch, other: _Branch | None, seeds: Mapping[str, str]) -> dict[str, NetDef]:
    """Each branch also makes the gradients that only the other one computes: zeros, or what came in."""
    only_then = [name for name in then.writes if other is None or name not in other.writes]
    only_other = [name for name in other.writes if name not in then.writes] if other else []
    nets = {"then_net": then.net}
    missing = _defaults(then.gradients, only_then, seeds)
    if other is not None:
        other.net.op.extend(missing)
        nets["else_net"] = other.net
    elif missing:
        nets["else_net"] = _gradient_net(then.net, missing, "_auto_else_zero_blobs_")
    then.net.op.extend(_defaults(other.gradients if other else {}, only_other, seeds))
    return nets


def _defaults(gradients: Mapping[str, str], names: Iterable[str], seeds: Mapping[str, str]) -> list[OperatorDef]:
    blob_of: dict[str, str] = {}
    for blob, gradient in gradients.items():
        blob_of.setdefault(gradient, blob)
    made = []
    for name in names:
        if name not in blob_of or seeds.get(blob := blob_of[name]) == name:
            continue
        if blob in seeds:
            made.append(OperatorDef(type="Copy", input=[seeds[blob]], output=[name]))
        else:
            made.append(OperatorDef(type="ConstantFill", input=[blob], output=[name], arg=[arg("value", 0.0)]))
    return made


# While.


def _while_gradient(op: Op, g_output: Sequence[Gradient], nest: Nest) -> Answer:
    _demand(op.inputs, "a While needs its condition as first input")
    _demand(len(op.outputs) == len(g_output), "a While needs as many gradients as it has outputs")
    copies, g_output = _apart(op, g_output)
    seeds = _by_output(op, g_output)
    _demand(seeds, "none of the While's outputs has a gradient")
    loop = _nested_net(op.proto, "loop_net")
    if loop is None:
        raise GradientError("a While needs a loop_net", kind="AssertionError@make_gradient")
    _demand(len(loop.op) == 1 and loop.op[0].type == "Do", "the body of a While needs to be a single Do")
    body = loop.op[0]
    reused = next((argument.i for argument in body.arg if argument.name == "reuse_workspace"), 0)
    _demand(not reused, "the Do in a While must not set reuse_workspace")
    _demand(body.output, "the Do in a While needs an output")
    branch = _Branch(nest, "loop_net", loop, seeds)
    condition, before, after = _loop_condition(nest, body.output[-1], seeds, branch.gradients)
    args = [arg("loop_net", branch.net), arg("cond_net", after)]
    made = _gradient_definition(op, [condition, *branch.reads], branch.writes, args)
    ops = [GradientOp.from_proto(each) for each in (*copies, *before, made)]
    return ops, [branch.gradients.get(name) for name in op.inputs]


def _loop_condition(
    nest: Nest, workspaces: str, seeds: Mapping[str, str], gradients: Mapping[str, str]
) -> tuple[str, list[OperatorDef], NetDef]:
    """The condition of a gradient loop: is a workspace of the forward loop left?

    Returns:
        The condition blob, the operators that set the loop up, and the net that is run after each round.
    """
    name = _unused_net_name(nest, "gradient_loop_cond_net")
    condition = f"{nest.name_scope}{name}/cond"
    has_scope = _scoped(nest, OperatorDef(type="HasScope", name=""))
    has_scope.input.append(nest.name_scope + workspaces)
    has_scope.output.append(condition)
    before, after = [has_scope], [has_scope]
    for blob, incoming in seeds.items():
        inner = gradients.get(blob)
        if inner is not None and inner != incoming:
            before.append(_scoped(nest, OperatorDef(type="Copy", name="", input=[incoming], output=[inner])))
            after.append(_scoped(nest, OperatorDef(type="Copy", name="", input=[inner], output=[incoming])))
    net = NetDef(name=name)
    written: set[str] = set()
    for each in after:
        net.op.append(each)
        net.external_input.extend(blob for blob in each.input if blob not in written)
        written.update(each.input, each.output)
    return condition, before, net


def _unused_net_name(nest: Nest, name: str) -> str:
    tried, number = name, 0
    while tried in nest.net_names:
        number += 1
        tried = f"{name}_{number}"
    nest.net_names.add(tried)
    return tried


def _scoped(nest: Nest, op: OperatorDef) -> OperatorDef:
    if nest.device_scope is not None:
        op.device_option.CopyFrom(nest.device_scope)
    return op


# Do.


class _Bindings:
    """Which inner blob of a Do is which outer one; refused where it is not one to one.

    Attributes:
        net: the inner net.
        scope: the blob that holds the workspaces.
        inner: outer name -> inner name.
        outer: inner name -> outer name.
    """

    def __init__(self, op: OperatorDef) -> None:
        net = _nested_net(op, "net")
        if net is None:
            raise GradientError("a Do needs a net", kind="AssertionError@make_gradient")
        self.net = net
        names, indices = _binding_arguments(op)
        _demand(op.input, "a Do needs its workspaces as last input")
        _demand(op.output, "a Do needs its workspaces as last output")
        self.scope = op.output[-1]
        _demand(op.input[-1] == self.scope, "a Do's last input and output must be the same workspaces")
        inputs, outputs = list(op.input[:-1]), list(op.output[:-1])
        _demand(len(set(inputs)) == len(inputs), "a Do reads a blob twice")
        _demand(len(set(outputs)) == len(outputs), "a Do writes a blob twice")
        self.inner: dict[str, str] = {}
        self.outer: dict[str, str] = {}
        self._bind(names, indices, inputs + outputs)

    def _bind(self, names: list[str], indices: list[int], blobs: list[str]) -> None:
        for name, index in zip(names, indices, strict=True):
            _demand(0 <= index < len(blobs), f"a Do binds {name} to blob {index}, but it has {len(blobs)} blobs")
            blob = blobs[index]
            _demand(blob not in self.inner, f"a Do binds the outer blob {blob} twice")
            self.inner[blob] = name
            self.outer[name] = blob
        unbound = [blob for blob in blobs if blob not in self.inner]
        _demand(not unbound, f"a Do leaves the outer blob {unbound[0] if unbound else ''} without an inner name")


def _binding_arguments(op: OperatorDef) -> tuple[list[str], list[int]]:
    strings = next((argument.strings for argument in op.arg if argument.name == "inner_blobs"), ())
    indices = next((argument.ints for argument in op.arg if argument.name == "outer_blobs_idx"), ())
    names = [name.decode("utf-8", "surrogateescape") for name in strings]
    _demand(names, "a Do needs inner_blobs")
    _demand(indices, "a Do needs outer_blobs_idx")
    _demand(len(names) == len(indices), "a Do needs as many inner_blobs as outer_blobs_idx")
    _demand(len(set(names)) == len(names), "a Do names an inner blob twice")
    return names, list(indices)


def _do_gradient(op: Op, g_output: Sequence[Gradient], nest: Nest) -> Answer:
    bindings = _Bindings(op.proto)
    _demand(len(op.outputs) == len(g_output), "a Do needs as many gradients as it has outputs")
    copies, g_output = _apart(op, g_output)
    seeds: dict[str, str] = {}
    arriving: dict[str, str] = {}
    for output, gradient in zip(op.outputs[:-1], g_output, strict=False):
        if gradient:
            inner = bindings.inner[output]
            seeds[inner] = inner + INNER_GRADIENT
            arriving[inner + INNER_GRADIENT] = _text(gradient)
    _demand(seeds, "none of the Do's outputs has a gradient")
    inner_ops, gradients = nest.walk("net", bindings.net, seeds)
    if not inner_ops:
        return [], []
    leaving, bound, g_input = _leaving(op, bindings, gradients)
    inputs, saved = _arriving(inner_ops, bindings, arriving, bound)
    outputs = [gradient for gradient in g_input if gradient is not None]
    made = _gradient_do(op, bindings, [*inner_ops, *leaving], inputs, outputs, bound, saved)
    _Bindings(made)  # the gradient Do must be one to one, too
    return [GradientOp.from_proto(each) for each in (*copies, made)], list(g_input)


def _leaving(
    op: Op, bindings: _Bindings, gradients: Mapping[str, str]
) -> tuple[list[OperatorDef], dict[str, str], list[str | None]]:
    """Copies through which gradients of inputs leave the inner net, their bindings, and the gradients outside."""
    copies: list[OperatorDef] = []
    bound: dict[str, str] = {}
    g_input: list[str | None] = []
    for outer in op.inputs[:-1]:
        inner = bindings.inner[outer]
        if inner not in gradients:
            g_input.append(None)
            continue
        copies.append(OperatorDef(type="Copy", input=[gradients[inner]], output=[inner + INNER_COPY]))
        bound[inner + INNER_COPY] = outer + "_grad"
        g_input.append(outer + "_grad")
    return copies, bound, g_input


def _arriving(
    ops: Iterable[OperatorDef], bindings: _Bindings, arriving: Mapping[str, str], bound: dict[str, str]
) -> tuple[list[str], list[str]]:
    """Blobs that the gradient Do reads from outside, and locals that it takes from the forward workspace."""
    inputs: dict[str, None] = {}
    saved: dict[str, None] = {}
    written: set[str] = set()
    for each in ops:
        for name in each.input:
            if name in written:
                continue
            outer = bindings.outer.get(name) or arriving.get(name)
            if outer:
                inputs[outer] = None
                bound[name] = outer
            else:
                saved[name] = None
        written.update(each.output)
    return list(inputs), list(saved)


def _gradient_do(
    op: Op,
    bindings: _Bindings,
    ops: list[OperatorDef],
    inputs: list[str],
    outputs: list[str],
    bound: Mapping[str, str],
    saved: list[str],
) -> OperatorDef:
    blobs = inputs + outputs
    args = [
        arg("net", _gradient_net(bindings.net, ops)),
        arg("inner_blobs", list(bound)),
        arg("outer_blobs_idx", [blobs.index(outer) for outer in bound.values()]),
        arg("saved_fwd_blobs", saved),
    ]
    return _gradient_definition(op, [*inputs, bindings.scope], [*outputs, bindings.scope], args)


operator("If", inputs=(1, MANY), inplace="any", args="then_net else_net", python_rule=_if_gradient)
operator("While", inputs=(1, MANY), inplace="any", args="loop_net cond_net", python_rule=_while_gradient)
operator(
    "Do",
    inputs=(1, MANY),
    outputs=(1, MANY),
    inplace="any",
    args="net inner_blobs outer_blobs_idx saved_fwd_blobs reuse_workspace",
    python_rule=_do_gradient,
)
operator("Conditional", inputs=3, outputs=1, gradient=NONE)


@kernel("Conditional")
def conditional(xp: Any, condition: Any, if_true: Any, if_false: Any) -> Any:
    """Row by row of the one or the other, as a condition of shape (N,) says."""
    expect("bool", condition)
    require(condition.ndim == 1, f"the condition has {condition.ndim} dimensions where one is wanted")
    require_same_shape(if_true, if_false)
    require_same_dtype(if_true, if_false)
    require(if_true.ndim and len(if_true) == len(condition), "one condition a row is wanted")
    condition = condition.reshape(-1, *[1] * (if_true.ndim - 1))
    if if_true.dtype.kind == "O":
        return on_host(condition).choose([if_false, if_true])
    return xp.where(condition, if_true, if_false)


operator("CreateScope", inputs=0, outputs=1, gradient=SHOULD_NOT)
operator("HasScope", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("ONNXWhile", inputs=(2, MANY), inplace="any", args="body has_trip_count has_cond save_scopes disable_scopes")
operator(
    "AsyncNetBarrier",
    inputs=(1, MANY),
    outputs=(1, MANY),
    inplace="one_to_one",
    args="cross_device",
    gradient=SHOULD_NOT,
)


@kernel("AsyncNetBarrier")
def async_net_barrier(xp: Any, *inputs: Any) -> Any:
    """Hands everything on: a net runs in one thread here, so there is nothing to wait for."""
    return inputs
