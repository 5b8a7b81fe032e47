"""Small nets and files that several tests open."""

from google.protobuf import text_format

from gradviz.nets import NetBuilder
from gradviz.proto import NetDef


def lamp() -> NetDef:
    """Two operators, three external inputs."""
    net = NetBuilder("lamp")
    net.add("Sigmoid", net.add("FC", ["dusk", "w", "b"], "lit"), "glow")
    return net.net


def lamp_init() -> NetDef:
    """Fills the two parameters of `lamp`."""
    net = NetBuilder("lamp_init")
    net.add("XavierFill", [], "w", shape=[4, 3])
    net.add("ConstantFill", [], "b", shape=[4], value=0.0)
    return net.net


def as_text(message) -> str:
    return text_format.MessageToString(message)


def wire(number: int, content: bytes | int) -> bytes:
    """One field of any message: delimited bytes, or a varint."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
