"""Whether bytes are text, and which text: UTF-8 with or without a mark, UTF-16, or Latin-1."""

from __future__ import annotations

import codecs

_LOOKED_AT = 8192
_CONTROL = bytes(code for code in range(32) if code not in b"\t\n\v\f\r") + b"\x7f"
_MOST_CONTROL = 1 / 50
"""Net text may hold a stray control code; of a net's bytes at least a tenth are keys and lengths, which are these."""
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def text_of(data: bytes) -> tuple[str, list[str]] | None:
    r"""The text that `data` holds, its line ends as `\n`, with notices about its encoding; None where it is binary."""
    found = _decoded(data)
    if found is None:
        return None
    text, notices = found
    return text.replace("\r\n", "\n").replace("\r", "\n"), notices


def _decoded(data: bytes) -> tuple[str, list[str]] | None:
    wide = _UTF_16.get(data[:2]) or _wide_without_mark(data)
    if wide:
        return _wide(data, wide)
    if _is_binary(data[:_LOOKED_AT]):
        return None
    marked = data.startswith(codecs.BOM_UTF8)
    notices = ["the text begins with a byte order mark, which Caffe2 itself refuses"] if marked else []
    try:
        return data.decode("utf-8-sig"), notices
    except UnicodeDecodeError:
        return data.decode("latin-1"), ["the text is not UTF-8: it is read as Latin-1"]


def _wide(data: bytes, encoding: str) -> tuple[str, list[str]] | None:
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError:
        return None
    head = text[:_LOOKED_AT].encode("latin-1", "replace")
    return None if _is_binary(head) else (text, ["the text is UTF-16, which Caffe2 itself refuses"])


def _wide_without_mark(data: bytes) -> str | None:
    """UTF-16 without its mark: net text is nearly all ASCII, so every second byte is zero."""
    head = data[:_LOOKED_AT]
    if len(head) < 4 or len(data) % 2:
        return None
    low, high = head[0::2], head[1::2]
    if high.count(0) > 0.9 * len(high) and not low.count(0):
        return "utf-16-le"
    return "utf-16-be" if low.count(0) > 0.9 * len(low) and not high.count(0) else None


def _is_binary(head: bytes) -> bool:
    if 0 in head:
        return True
    controls = len(head) - len(head.translate(None, _CONTROL))
    return controls > _MOST_CONTROL * len(head)
