"""Models of other frameworks that are protobuf too, told by the fields they have."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gradviz.nets import wire
from gradviz.nets.words import count, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

_INT, _LEN = wire.VARINT, wire.DELIMITED
_ONNX = {1: _INT, 2: _LEN, 3: _LEN, 4: _LEN, 5: _INT, 6: _LEN, 7: _LEN, 8: _LEN, 14: _LEN, 20: _LEN, 25: _LEN}
_CAFFE = {1: _LEN, 2: _LEN, 3: _LEN, 4: _INT, 5: _INT, 6: _LEN, 7: _INT, 8: _LEN, 100: _LEN}
_CAFFE_LAYER, _CAFFE_OLD_LAYER = 100, 2
_CAFFE_LAYER_SHAPE = wire.Shape(
    "V1LayerParameter",
    {
        2: wire.Part("bottom", frozenset({_LEN}), text=True),
        3: wire.Part("top", frozenset({_LEN}), text=True),
        4: wire.Part("name", frozenset({_LEN}), text=True),
        5: wire.Part("type", frozenset({_INT})),
    },
)
_GRAPH_DEF = {1: _LEN, 2: _LEN, 3: _INT, 4: _LEN}
_NODE = wire.Shape(
    "NodeDef",
    {number: wire.Part(f"field {number}", frozenset({_LEN}), text=number < 5) for number in range(1, 8)},
)
_MOST_FIELDS = 20_000  # more layers than any model of these has
_CAFFE_ADVICE = "translate it first (caffe_translator.py of Caffe2)"


def sentence(data: bytes) -> str | None:
    """Which model of another framework the bytes are, whole or cut short; None where they are none that is known."""
    fields = list(wire.fields(data, _MOST_FIELDS))
    keys = Counter(key for key, _ in fields)
    numbers = {key >> 3 for key in keys}
    if data[:1] == b"\x08" and _only(keys, _ONNX) and numbers & {2, 7, 8}:
        return f"is an ONNX model{_producer(fields)}, not a Caffe2 net: convert it first (caffe2.python.onnx.backend)"
    if _only(keys, _CAFFE) and _CAFFE_LAYER in numbers:
        layers = count(keys[_key(_CAFFE_LAYER)], "layer")
        return f"is a Caffe 1 model (.caffemodel, {layers}), not a Caffe2 net: {_CAFFE_ADVICE}"
    if _only(keys, _CAFFE) and _all_are(fields, _CAFFE_OLD_LAYER, _CAFFE_LAYER_SHAPE, needs=5):
        layers = count(keys[_key(_CAFFE_OLD_LAYER)], "layer")
        return f"is a Caffe 1 model (.caffemodel of an old form, {layers}), not a Caffe2 net: {_CAFFE_ADVICE}"
    if _only(keys, _GRAPH_DEF) and _all_are(fields, 1, _NODE, needs=2):
        return f"is a TensorFlow graph ({count(keys[_key(1)], 'node')}), not a Caffe2 net"
    return None


def _key(number: int) -> int:
    return number << 3 | _LEN


def _only(keys: Iterable[int], allowed: dict[int, int]) -> bool:
    return all(allowed.get(key >> 3) == key & 7 for key in keys)


def _producer(fields: list[tuple[int, bytes]]) -> str:
    """Who wrote an ONNX file: its fields 2 and 3."""
    names = [body for key, body in fields if key in (_key(2), _key(3))]
    words = b" ".join(names[:2]).decode("utf-8", "replace")
    return f" (from {quoted(words)})" if words.strip() else ""


def _all_are(fields: list[tuple[int, bytes]], number: int, shape: wire.Shape, needs: int) -> bool:
    """Whether every field `number` looks like a message of `shape`, the field `needs` included; the last may be cut."""
    bodies = [body for key, body in fields if key == _key(number)]
    whole = bodies[:-1] if len(bodies) > 1 else bodies
    return bool(whole) and all(_is(body, shape, needs) for body in whole)


def _is(body: bytes, shape: wire.Shape, needs: int) -> bool:
    if any(finding.kind != "unknown" for finding in wire.findings(body, shape)):
        return False
    return any(key >> 3 == needs for key, _ in wire.fields(body))
