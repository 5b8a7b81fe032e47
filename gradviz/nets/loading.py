"""Open a net file, whatever it is called and however it is written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradviz.errors import LoadError
from gradviz.nets import binary, encoding, files, init_nets, samples, signatures, text
from gradviz.nets.exports import model_of
from gradviz.nets.model import Model, as_model

if TYPE_CHECKING:
    from gradviz.nets.contents import Contents
    from gradviz.nets.text import Progress

_TEXT_SUFFIXES = (".pbtxt", ".prototxt", ".txt")


def load(
    path: str | os.PathLike[str],
    init: Any = None,
    net: str | None = None,
    *,
    progress: Progress | None = None,
) -> Model:
    """Open a net: binary or text, a plan, a predictor export (MetaNetDef, minidb) or a single operator.

    What the file is, its content decides, not its name. An init net is looked for beside it under the names that
    Caffe2's users give them (`init_net.pb` beside `predict_net.pb`, `x_init.pb` beside `x.pb`) unless one is given.

    Args:
        path: the file; the name of a sample (`lenet`) where no such file exists.
        init: the init net: a path, a Model or a NetDef.
        net: which net, by its name, where the file is a plan or an export.
        progress: called with how much text is read and how much there is; text takes long where it is long.

    Returns:
        The Model; `notices` says what was accepted although it is not as it should be.

    Raises:
        LoadError: there is no net in the file; the message says what it is instead, and what to do.
        SeveralNetsError: there are several, and `net` does not choose one.
    """
    where = _where(path)
    model = _open(where, net, progress)
    if init is not None:
        _take(init, model)
    elif init_nets.is_init(model.net):
        model.notices.append(_init_in_place(where))
    elif model.init is None:
        _look_beside(where, model)
    return model


def _where(path: str | os.PathLike[str]) -> Path:
    """The file meant; a sample where no file has the name."""
    words = os.fsdecode(path)
    sample = samples.find(words) if _may_be_sample(words) and not os.path.lexists(words) else None
    return sample if sample is not None else Path(words)


def _may_be_sample(words: str) -> bool:
    return Path(words).name == words and not Path(words).suffix


def _open(path: Path, choose: str | None, progress: Progress | None = None) -> Model:
    data = files.read(path, [each.name for each in samples.SAMPLES] if _may_be_sample(str(path)) else ())
    name = files.shown(path)
    if not data:
        raise LoadError(f"{name} is empty (0 bytes): get the file again")
    model = model_of(_contents(data, name, path.suffix, progress), name, choose)
    model.path = path
    if not model.net.op:
        model.notices.append("the net has no operators")
    return model


def _contents(data: bytes, name: str, suffix: str, progress: Progress | None) -> Contents:
    """Read bytes as what they are; the suffix is only compared with it."""
    known = signatures.sentence(data)
    if known is not None:
        raise LoadError(f"{name} {known}")
    found = encoding.text_of(data)
    if found is None:
        contents = binary.read(data, name)
        if suffix in _TEXT_SUFFIXES:
            contents.notices.append(f"its name ends in {suffix}, but it is binary: read as binary")
        return contents
    words, notices = found
    contents = _as_text(words, data, name, progress)
    contents.notices[:0] = notices
    if suffix == ".pb" and contents.format.endswith("text"):
        contents.notices.append("its name ends in .pb, but it is text: read as text")
    return contents


def _as_text(words: str, data: bytes, name: str, progress: Progress | None) -> Contents:
    """Read text; what looks like text may still be a small binary message, but only if it is one in every byte."""
    try:
        return text.read(words, name, progress)
    except LoadError as refused:
        try:
            contents = binary.recognise(data, name)
        except LoadError:
            contents = None
        if contents is None:
            raise refused from None
        return contents


def _take(init: Any, model: Model) -> None:
    """Attach an init net that was given."""
    if isinstance(init, str | os.PathLike):
        given = _open(_where(init), None)
        model.init_path = given.path
        model.notices.extend(f"init net: {notice}" for notice in given.notices)
    else:
        given = as_model(init)
    model.init = given.net
    if init_nets.is_init(model.net) and not init_nets.is_init(given.net):
        model.notices.append(
            "the two nets seem to be exchanged: the one opened only fills blobs, the init net computes"
        )
    elif given.net.op and not init_nets.serves(given.net, model.net):
        model.notices.append("the init net fills no blob that this net reads: they may not belong together")


def _look_beside(path: Path, model: Model) -> None:
    """Attach the init net that lies beside the file, if there is one that fills what the net reads."""
    for candidate in init_nets.candidates(path):
        try:
            beside = _open(candidate, None)
        except LoadError as error:
            model.notices.append(f"beside it lies what could be its init net, but {error}")
            continue
        if beside.net.op and init_nets.serves(beside.net, model.net):
            model.init, model.init_path = beside.net, candidate
            return


def _init_in_place(path: Path) -> str:
    beside = (path.with_name(stem + path.suffix) for stem in init_nets.predict_stems(path.stem))
    net = next((each for each in beside if each.is_file()), None)
    advice = (
        f"open {files.shown(net)} with it" if net else "open the net that reads them, and give this one as its init net"
    )
    return f"this looks like an init net: its operators only fill blobs; {advice}"
