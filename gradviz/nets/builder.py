"""A small builder of nets: samples and tests say operators, it works out what the net reads and gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from gradviz.proto import DeviceOption, NetDef
from gradviz.proto.arguments import arg, copying

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gradviz.proto import OperatorDef


class NetBuilder:
    """Builds a NetDef, operator by operator.

    ```python
    net = NetBuilder("mlp")
    hidden = net.add("FC", ["x", "w", "b"], "hidden")
    net.add("Relu", hidden, hidden)
    net.net    # the NetDef; x, w and b are its external inputs, hidden its external output
    ```

    Args:
        name: of the net.
        inputs: blobs that stand first among the external inputs; those that are read but never made follow.
        outputs: the external outputs; None: what is made and not read afterwards.
        device: of every operator that names none itself.
        **args: arguments of the net.
    """

    def __init__(
        self,
        name: str = "",
        *,
        inputs: Iterable[str] = (),
        outputs: Iterable[str] | None = None,
        device: DeviceOption | int | None = None,
        **args: Any,
    ) -> None:
        self._net = NetDef(name=name, arg=[_arg(key, value) for key, value in args.items()])
        self._inputs = list(inputs)
        self._outputs = None if outputs is None else list(outputs)
        self._device = device

    @overload
    def add(
        self,
        type: str,
        inputs: str | Iterable[str],
        outputs: str,
        *,
        name: str = ...,
        engine: str = ...,
        device: DeviceOption | int | None = ...,
        **args: Any,
    ) -> str: ...
    @overload
    def add(
        self,
        type: str,
        inputs: str | Iterable[str],
        outputs: Sequence[str],
        *,
        name: str = ...,
        engine: str = ...,
        device: DeviceOption | int | None = ...,
        **args: Any,
    ) -> list[str]: ...
    def add(
        self,
        type: str,
        inputs: str | Iterable[str],
        outputs: str | Sequence[str],
        *,
        name: str = "",
        engine: str = "",
        device: DeviceOption | int | None = None,
        **args: Any,
    ) -> str | list[str]:
        """Add an operator.

        Args:
            type: its type.
            inputs: its input blobs; one alone may be given as it is.
            outputs: its output blobs; one alone may be given as it is.
            name: its name; left out where empty.
            engine: its engine; left out where empty.
            device: a DeviceOption, or the number of a device type.
            **args: its arguments, by the rules of `gradviz.proto.arguments.arg`; a NetBuilder stands for its net.

        Returns:
            The outputs as given: one name, or a list.
        """
        op = self._net.op.add(type=type, input=_names(inputs), output=_names(outputs))
        if name:
            op.name = name
        if engine:
            op.engine = engine
        where = device if device is not None else self._device
        if where is not None:
            op.device_option.CopyFrom(DeviceOption(device_type=where) if isinstance(where, int) else where)
        with copying():
            op.arg.extend(_arg(key, value) for key, value in args.items())
        return outputs if isinstance(outputs, str) else list(outputs)

    @property
    def net(self) -> NetDef:
        """The net as it is now; a copy, so that more operators can be added."""
        net = NetDef()
        with copying():
            net.CopyFrom(self._net)
        net.external_input.extend(dict.fromkeys([*self._inputs, *_read_from_outside(self._net.op)]))
        net.external_output.extend(_left_over(self._net.op) if self._outputs is None else self._outputs)
        return net


def _arg(name: str, value: Any) -> Any:
    return arg(name, value.net if isinstance(value, NetBuilder) else value)


def _names(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _read_from_outside(ops: Iterable[OperatorDef]) -> Iterator[str]:
    made: set[str] = set()
    for op in ops:
        yield from (blob for blob in op.input if blob not in made)
        made.update(op.output)


def _left_over(ops: Iterable[OperatorDef]) -> list[str]:
    """What is made and not read after it was last made, in the order of the making."""
    unread: dict[str, None] = {}
    for op in ops:
        for blob in op.input:
            unread.pop(blob, None)
        unread.update(dict.fromkeys(op.output))
    return list(unread)
