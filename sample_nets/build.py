"""Write the sample nets and their table: `python -m sample_nets.build`.

The same files come out on every machine: what is drawn is drawn from fixed seeds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradviz.nets.samples import SAMPLES, Sample, init_file
from gradviz.nets.saving import to_bytes
from sample_nets import pitfalls, small, vision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradviz.nets import Model

HERE = Path(__file__).parent
MAKERS: dict[str, Callable[[], Model]] = {
    maker.__name__: maker
    for maker in (
        small.mlp,
        vision.lenet,
        vision.squeezenet,
        vision.resnet20,
        small.inplace_relu,
        small.shared_weights,
        small.embedding,
        small.two_losses,
        small.lstm_unrolled,
        small.if_else,
        pitfalls.version_mismatch,
        pitfalls.overwritten_input,
        pitfalls.blob_not_in_scope,
        pitfalls.orphan_stop_gradient,
        pitfalls.mixed_sparse_dense,
        pitfalls.no_gradient,
    )
}
_README = """# Sample nets

`gradviz open NAME` opens one of these wherever gradviz is installed, `gradviz run NAME` runs it. Each has its init net
beside it, and the feeds of the table are filled from a seed. `python -m sample_nets.build` writes all files anew.

| name | what it shows | file | ys | feeds |
|---|---|---|---|---|
"""


def files() -> Iterator[tuple[str, bytes]]:
    """Name and content of every file that belongs in this folder."""
    for sample in SAMPLES:
        model = MAKERS[sample.name]()
        yield sample.file, _content(model.net, sample.file)
        if model.init is not None:
            yield init_file(sample), _content(model.init, sample.file)
    yield "README.md", (_README + "".join(map(_row, SAMPLES))).encode()


def _content(net: object, file: str) -> bytes:
    return to_bytes(net, text=not file.endswith(".pb"))


def _row(sample: Sample) -> str:
    ys = sample.ys if isinstance(sample.ys, dict) else dict.fromkeys(sample.ys or ())
    asked = ", ".join(f"`{y}={gradient}`" if gradient else f"`{y}`" for y, gradient in ys.items())
    feeds = ", ".join(f"`{blob}={what}`" for blob, what in sample.feeds.items())
    return f"| `{sample.name}` | {sample.shows} | [{sample.file}]({sample.file}) | {asked} | {feeds} |\n"


def write(folder: Path = HERE) -> None:
    """Write all files into `folder`."""
    for name, content in files():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    write()
