"""A wire format as plain lines, one a field or enum value: read from a descriptor, or from a recorded schema."""

from collections.abc import Iterator
from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, FileDescriptor

TYPES = {
    value: key.removeprefix("TYPE_").lower() for key, value in vars(FieldDescriptor).items() if key.startswith("TYPE_")
}

LABELS = {1: "optional", 2: "required", 3: "repeated"}


def of_file(file: FileDescriptor) -> list[str]:
    """`message.field = number label type [packed] [default]` for every field, `enum.VALUE = number` for every value."""
    lines = [line for message in file.message_types_by_name.values() for line in _of_message(message)]
    return sorted([*lines, *(line for enum in file.enum_types_by_name.values() for line in _of_enum(enum))])


def of_schema(schema: dict[str, Any]) -> list[str]:
    """The same lines from a schema recorded as JSON."""
    lines = list(_of_enums(schema["package"], schema["enums"]))
    for name, message in schema["messages"].items():
        lines.extend(_of_recorded(f"{schema['package']}.{name}", message))
    return sorted(lines)


def _of_message(message: Descriptor) -> Iterator[str]:
    described = descriptor_pb2.DescriptorProto()
    message.CopyToProto(described)
    for field in message.fields:
        label = LABELS[described.field[field.index].label]
        kind = _kind(field)
        default = _default(field) if field.has_default_value and label != "repeated" else None
        yield _line(message.full_name, field.name, field.number, label, kind, field.GetOptions().packed, default)
    for nested in message.nested_types:
        yield from _of_message(nested)
    for enum in message.enum_types:
        yield from _of_enum(enum)


def _kind(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        return str(field.message_type.full_name)
    return str(field.enum_type.full_name) if field.enum_type is not None else TYPES[field.type]


def _default(field: FieldDescriptor) -> Any:
    if field.enum_type is not None:
        return field.enum_type.values_by_number[field.default_value].name
    return field.default_value


def _of_enum(enum: EnumDescriptor) -> Iterator[str]:
    return (f"{enum.full_name}.{value.name} = {value.number}" for value in enum.values)


def _of_recorded(name: str, message: dict[str, Any]) -> Iterator[str]:
    for field in message["fields"]:
        kind = field.get("message") or field.get("enum") or field["type"]
        packed = field.get("packed", False)
        yield _line(name, field["name"], field["number"], field["label"], kind, packed, field.get("default"))
    for key, nested in message["messages"].items():
        yield from _of_recorded(f"{name}.{key}", nested)
    yield from _of_enums(name, message["enums"])


def _of_enums(scope: str, enums: dict[str, dict[str, int]]) -> Iterator[str]:
    return (f"{scope}.{enum}.{key} = {number}" for enum, keys in enums.items() for key, number in keys.items())


def _line(message: str, field: str, number: int, label: str, kind: str, packed: bool, default: Any) -> str:
    words = [f"{message}.{field} = {number} {label} {kind}"]
    words += ["packed"] if packed else []
    words += [f"default {default}"] if default is not None else []
    return " ".join(words)
