"""Message classes made from the descriptor set, in a pool of our own.

A private pool means that a real `caffe2` package, whose generated modules register the same message names in protobuf's
default pool, can live in the same process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

DESCRIPTORS = Path(__file__).with_name("descriptors.bin")


def _load() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    described = descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes())
    for file in described.file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


POOL = _load()


def definitions(name: str) -> dict[str, Any]:
    """The public names of one file: its DESCRIPTOR, message classes, enum wrappers and enum values.

    Args:
        name: `caffe2`, `metanet` or `hsm`.
    """
    from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

    file = POOL.FindFileByName(f"caffe2/proto/{name}.proto")
    found: dict[str, Any] = {"DESCRIPTOR": file}
    for key, message in file.message_types_by_name.items():
        found[key] = message_factory.GetMessageClass(message)
    for key, enum in file.enum_types_by_name.items():
        found[key] = EnumTypeWrapper(enum)
        found.update({value.name: value.number for value in enum.values})
    return found
