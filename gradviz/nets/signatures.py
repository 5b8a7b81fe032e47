"""Files that are no nets and say so in their first bytes: what each is, and what to do."""

from __future__ import annotations

import io
import re
import zipfile

from gradviz.nets.words import count, listed, quoted

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "is compressed with gzip: unpack it first (gunzip)"),
    (b"BZh", "is compressed with bzip2: unpack it first (bunzip2)"),
    (b"\xfd7zXZ\x00", "is compressed with xz: unpack it first (unxz)"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd: unpack it first (unzstd)"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7-Zip archive: unpack it first"),
    (b"Rar!\x1a\x07", "is a RAR archive: unpack it first"),
    (b"\x93NUMPY", "is a NumPy array (.npy), not a net: arrays are fed to a net when it runs"),
    (b"\x89HDF\r\n\x1a\n", "is an HDF5 file (Keras and others keep weights so), not a Caffe2 net"),
    (b"SQLite format 3\x00", "is an SQLite database, not a net"),
    (b"\x89PNG\r\n\x1a\n", "is a PNG picture, not a net"),
    (b"\xff\xd8\xff", "is a JPEG picture, not a net"),
    (b"GIF8", "is a GIF picture, not a net"),
    (b"%PDF-", "is a PDF document, not a net"),
    (b"\x7fELF", "is a program or library (ELF), not a net"),
)
_LEGACY_TORCH = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_LFS = (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/")
_PAGE = re.compile(rb"(?:<!--(?:(?!-->).)*+-->\s*+)*+<(!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(rb"<title[^>]*>([^<]*)", re.IGNORECASE)
_LOOKED_AT = 4096
_TAR_AT = 257


def sentence(data: bytes) -> str | None:
    """What the file is, as the end of a sentence that its name begins; None where no signature is known.

    Args:
        data: the whole content.
    """
    head = data[:_LOOKED_AT]
    for start, words in _MAGIC:
        if head.startswith(start):
            return words
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return _archive(data)
    if head[_TAR_AT : _TAR_AT + 5] == b"ustar":
        return "is a tar archive: unpack it first (tar -xf)"
    if head[4:8] == b"TFL3":
        return "is a TensorFlow Lite model, not a Caffe2 net"
    return _pickle(data) or _words(head.removeprefix(b"\xef\xbb\xbf").lstrip(), len(data))


def _archive(data: bytes) -> str:
    try:
        names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        return "is a zip archive, and a damaged one: get it again, then unpack it"
    if any(name.endswith("data.pkl") for name in names):
        return "is a PyTorch file (a zip with data.pkl), not a Caffe2 net: export the model from PyTorch first"
    if names and all(name.endswith(".npy") for name in names):
        arrays = listed(name.removesuffix(".npy") for name in names)
        return f"is a NumPy archive (.npz) of {count(len(names), 'array')} ({arrays}), not a net"
    return f"is a zip archive ({listed(names)}): unpack it first"


def _pickle(data: bytes) -> str | None:
    if data.startswith(_LEGACY_TORCH):
        return "is a PyTorch file (torch.save), not a Caffe2 net: export the model from PyTorch first"
    if len(data) > 2 and data[0] == 0x80 and data[1] in range(2, 6) and data.endswith(b"."):
        return "is a Python pickle, not a net; it is not opened, since a pickle can run any code"
    return None


def _words(head: bytes, size: int) -> str | None:
    """Files of text that are known by how they begin."""
    if head.startswith(_LFS):
        return _pointer(head, size)
    if _PAGE.match(head):
        title = _TITLE.search(head)
        named = f" ({quoted(b' '.join(title[1].split()))})" if title and title[1].strip() else ""
        return f"is a saved web page{named}, not the file behind it: download the raw file"
    if head.startswith(b"<?xml"):
        return "is an XML document, not a net"
    if head.startswith((b"{", b"[")) and head.lstrip(b"{[ \t\r\n")[:1] in (b'"', b"}", b"]"):
        return "is JSON, not a net: nets are protobuf, binary (.pb) or text (.pbtxt)"
    return None


def _pointer(head: bytes, size: int) -> str:
    wanted = []
    if found := re.search(rb"^size (\d{1,18})", head, re.MULTILINE):
        wanted.append(f"{int(found[1]):,} bytes")
    if found := re.search(rb"^oid (sha256):([0-9a-f]+)", head, re.MULTILINE):
        wanted.append(f"{found[1].decode()} {found[2][:12].decode()}…")
    of = f" ({', '.join(wanted)})" if wanted else ""
    return f"is a Git LFS pointer of {size:,} bytes, not the model itself{of}: run `git lfs pull` in its repository"
