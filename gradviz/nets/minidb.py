"""Minidb files: rows of key and value, in which Caffe2 exports a predictor together with its parameters.

A record is the length of its key and of its value (32 bits each, little-endian), then both. Each value is a BlobProto.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from gradviz.errors import LoadError
from gradviz.nets import strict, tensors
from gradviz.nets.contents import Contents
from gradviz.nets.words import count, listed, plain
from gradviz.proto import BlobProto, MetaNetDef

if TYPE_CHECKING:
    from gradviz.proto import TensorProto

_NET = "!!META_NET_DEF"
_PIECE = "#%"  # a blob saved in pieces has a record for each, its number after this mark
_LENGTHS = struct.Struct("<II")
_LONGEST_KEY = 1024


def read(data: bytes, name: str) -> Contents | None:
    """The predictor export in a minidb; None where the bytes are no minidb.

    Raises:
        LoadError: they are one, but hold no net, or are cut short or damaged.
    """
    records, end = _records(data)
    if not records or (end < len(data) and records[0][0] != _NET):
        return None
    if end < len(data):
        raise LoadError(
            f"{name} is cut short or damaged: a minidb whose record at byte {end:,} is not whole "
            f"({count(len(records), 'record')} before it, the file has {len(data):,} bytes)"
        )
    blobs = [(key, strict.parse(BlobProto, value)[0]) for key, value in records]
    if any(blob is None for _, blob in blobs):
        return None
    return _export([(key, blob) for key, blob in blobs if blob is not None], name)


def _records(data: bytes) -> tuple[list[tuple[str, bytes]], int]:
    """The records that are whole, and where the first one that is not begins."""
    found: list[tuple[str, bytes]] = []
    at = 0
    while at + _LENGTHS.size <= len(data):
        key_size, size = _LENGTHS.unpack_from(data, at)
        body = at + _LENGTHS.size + key_size
        if not 0 < key_size <= _LONGEST_KEY or body + size > len(data):
            break
        key = data[at + _LENGTHS.size : body]
        if not key.isascii() or not key.decode().isprintable():
            break
        found.append((key.decode(), data[body : body + size]))
        at = body + size
    return found, at


def _export(blobs: list[tuple[str, BlobProto]], name: str) -> Contents:
    nets = [blob.content for key, blob in blobs if key == _NET]
    if not nets:
        keys = listed(dict.fromkeys(key.partition(_PIECE)[0] for key, _ in blobs))
        raise LoadError(f"{name} is a minidb of {count(len(blobs), 'record')} ({keys}) without a net in it")
    meta, _ = strict.parse(MetaNetDef, nets[0])
    if meta is None:
        raise LoadError(f"{name} is a minidb whose record {_NET} is damaged: it does not parse as a MetaNetDef")
    pieces: dict[str, list[TensorProto]] = {}
    others: list[str] = []
    for key, blob in blobs:
        if blob.HasField("tensor"):
            pieces.setdefault(key.partition(_PIECE)[0], []).append(blob.tensor)
        elif key != _NET:
            others.append(plain(key))
    notices = [f"left out, since they are no tensors: {listed(others)}"] if others else []
    try:
        joined = {key: tensors.join(each) for key, each in pieces.items()}
    except LoadError as error:
        raise LoadError(f"{name} is a predictor export that lacks values: {error}") from error
    return Contents(meta, "minidb", notices, joined)
