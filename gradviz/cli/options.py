"""Arguments and options that several commands share, and what becomes of them: a model, and its ys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from gradviz.cli.talk import clear_progress, progress, say
from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradviz.autodiff import Trace
    from gradviz.nets import Model
    from gradviz.nets.samples import Sample

F = TypeVar("F", bound="Callable[..., Any]")


def model_argument(function: F) -> F:
    """MODEL, --init and --net."""
    return click.argument("model")(_model_options(function))


def _model_options(function: F) -> F:
    for decorate in (
        click.option("--net", metavar="NAME", help="Which net, where the file holds several."),
        click.option("--init", metavar="FILE", help="The init net; looked for beside MODEL unless given."),
    ):
        function = decorate(function)
    return function


def optional_model_argument(function: F) -> F:
    """[MODEL], --init and --net."""
    return click.argument("model", required=False)(_model_options(function))


ys_option = click.option(
    "--ys",
    multiple=True,
    metavar="BLOB[=GRAD]",
    help="What gradients are asked of; may be repeated. `loss` starts from ones, `y=y_grad` from a given gradient, "
    "`w=ind,val` from a given sparse one. Without it: the net's external outputs, else what nothing reads.",
)


def at_option(what: str) -> Callable[[F], F]:
    """--at, with what it does here."""
    return click.option(
        "--at", metavar="EVENT", help=f"{what}: its number (negative: from the end), `last` or `error`."
    )


def open_model(model: str, init: str | None, net: str | None) -> Model:
    """Load the model, and say on stderr what was accepted although it is not as it should be.

    Raises:
        LoadError: there is no net in the file.
    """
    from gradviz.nets import load

    def report(done: int, total: int) -> None:
        progress(f"reading {model}: {100 * done // max(total, 1)} %")

    try:
        opened = load(model, init=init, net=net, progress=report)
    finally:
        clear_progress()
    for notice in opened.notices:
        say(f"note: {notice}")
    return opened


def sample_of(model: Model) -> Sample | None:
    """The sample that was opened, if it is one."""
    from gradviz.nets import samples

    return samples.of(model.path)


def chosen_ys(model: Model, texts: Sequence[str]) -> Any:
    """The ys as `gradviz.trace` takes them; None where gradviz is to choose.

    Raises:
        GradvizError: the net does not know a y, or a gradient is written wrongly.
    """
    if texts:
        return _parsed(model, texts)
    sample = sample_of(model)
    if sample is None or sample.ys is None:
        return None
    say(f"ys: {listed(list(sample.ys))} (what this sample is about; choose others with --ys)")
    return dict(sample.ys) if isinstance(sample.ys, Mapping) else list(sample.ys)


def _parsed(model: Model, texts: Sequence[str]) -> list[str] | dict[str, Any]:
    from gradviz.autodiff.targets import known_blobs

    known = known_blobs(model.net)
    parsed: dict[str, Any] = {}
    for text in texts:
        blob, gradient = _one(text, known)
        parsed[blob] = gradient
    for blob in parsed:
        if blob not in known:
            raise _unknown(blob, known)
    return list(parsed) if all(gradient is None for gradient in parsed.values()) else parsed


def _one(text: str, known: set[str]) -> tuple[str, Any]:
    """A y and its gradient; names may hold the signs `=` and `,` themselves."""
    if text in known or "=" not in text:
        return text, None
    cuts = [at for at, each in enumerate(text) if each == "="]
    cut = next((at for at in cuts if text[:at] in known), cuts[0])
    blob, gradient = text[:cut], text[cut + 1 :]
    if not gradient:
        raise GradvizError(f"--ys {text}: name the gradient after the `=`, or leave the `=` out to start from ones")
    indices, comma, values = gradient.partition(",")
    if not comma:
        return blob, gradient
    if not indices or not values or "," in values:
        raise GradvizError(f"--ys {text}: a sparse gradient is written {blob}=INDICES,VALUES")
    from gradviz.ops.records import GradientSlice

    return blob, GradientSlice(indices, values)


def _unknown(blob: str, known: set[str]) -> GradvizError:
    from gradviz.autodiff.targets import nearest

    near = nearest(blob, known)
    hint = f"; nearest: {', '.join(near)}" if near else f"; it has {listed(sorted(known))}"
    return GradvizError(f"the net has no blob {blob!r} to ask a gradient of{hint}")


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names with commas between; of many the first and how many more there are."""
    more = len(names) - most
    return (", ".join(names[:most]) or "none") + (f" and {more} more" if more > 0 else "")


def traced(model: Model, texts: Sequence[str]) -> Trace:
    """The walk over a model; stderr hears which ys were chosen, and of what Caffe2 lets pass in silence."""
    from gradviz.autodiff import trace

    asked = chosen_ys(model, texts)
    walked = trace(model, asked)
    if asked is None:
        say(f"ys: {listed(list(walked.ys))} ({walked.chosen}; choose others with --ys)")
    warn(walked.warnings)
    return walked


_MOST_WARNINGS = 3


def warn(warnings: Sequence[str]) -> None:
    """Say the first warnings on stderr, and how many more there are."""
    for warning in warnings[:_MOST_WARNINGS]:
        say(f"warning: {warning}")
    if len(warnings) > _MOST_WARNINGS:
        say(f"warning: and {len(warnings) - _MOST_WARNINGS} more; `gradviz trace MODEL --summary` lists them all")
