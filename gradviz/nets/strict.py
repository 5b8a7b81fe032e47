"""A strict reading of our messages: texts must be UTF-8, and every byte must belong to a known field.

protobuf hands out a proto2 text that is not UTF-8 as `bytes`, and keeps what it does not know in silence. Both are
usual where a file of another kind is read as a net, so both are asked for, at the speed of protobuf's own reader.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeVar

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message

from gradviz.proto.pool import DESCRIPTORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.protobuf.descriptor import Descriptor
    from google.protobuf.descriptor_pb2 import DescriptorProto

M = TypeVar("M", bound=Message)


def parse(message: type[M], data: bytes) -> tuple[M | None, bool]:
    """Parse `data`, or None where it is no such message, lacks a required field or holds a text that is not UTF-8.

    Returns:
        The message, and whether it knows every byte.
    """
    try:
        _checking(message.DESCRIPTOR).FromString(data)
        found = message.FromString(data)
    except DecodeError:
        return None, False
    if not found.IsInitialized():
        return None, False
    if not _drops_unknown(found):
        return found, True
    return message.FromString(data), False  # read once more: what is unknown shall survive a round trip


def fits(kind: Descriptor, data: bytes) -> bool:
    """Whether `data` are such a message, whole and known in every byte."""
    try:
        found = _checking(kind).FromString(data)
    except DecodeError:
        return False
    return found.IsInitialized() and not _drops_unknown(found)


def _drops_unknown(message: Message) -> bool:
    """Discard what is unknown; whether there was anything."""
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return message.ByteSize() != size


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    """The same messages in the terms of edition 2023, whose reader refuses a text that is not UTF-8."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes()).file:
        file.syntax = "editions"
        file.edition = descriptor_pb2.EDITION_2023
        file.options.features.enum_type = descriptor_pb2.FeatureSet.CLOSED
        for message in _messages(file.message_type):
            _say_in_features(message)
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def _messages(messages: Iterable[DescriptorProto]) -> Iterator[DescriptorProto]:
    for message in messages:
        yield message
        yield from _messages(message.nested_type)


def _say_in_features(message: DescriptorProto) -> None:
    """Editions have no `required` and no `packed`: one is a feature, the other is read in both forms anyway."""
    for field in message.field:
        field.options.ClearField("packed")
        if field.label == field.LABEL_REQUIRED:
            field.label = field.LABEL_OPTIONAL
            field.options.features.field_presence = descriptor_pb2.FeatureSet.LEGACY_REQUIRED


@cache
def _checking(kind: Descriptor) -> type[Message]:
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(kind.full_name))
