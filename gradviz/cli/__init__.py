"""The command line: parse, call, print.

stdout carries data only, stderr carries talk. Exit codes: 0 all is well; 1 the answer is bad news (the walk failed, a
vector disagrees); 2 the question is wrong (bad option, a file that is no net, a y that the net does not know, missing
feeds, a file that cannot be written); 130 interrupted; 141 whoever read stdout went away.

Each command imports what it needs when it runs, so that `gradviz --help` is quick.
"""

from __future__ import annotations

import rich_click as click

from gradviz import __version__
from gradviz.cli.debugger import open_command, serve_command, tutorial_command
from gradviz.cli.diagnosing import lint_command, mend_command, why_command
from gradviz.cli.drawing import dot_command
from gradviz.cli.group import Commands
from gradviz.cli.knowledge import conformance_command, ops_command, samples_command
from gradviz.cli.reporting import report_command
from gradviz.cli.running import run_command
from gradviz.cli.tracing import trace_command

__all__ = ["cli", "main"]

EPILOG = """
Exit codes: 0 all is well; 1 bad news (the walk failed, a vector disagrees); 2 the question is wrong (options, files,
blobs, feeds); 130 interrupted. stdout carries data only, stderr carries talk. NO_COLOR is kept.

MODEL is a net file (.pb or .pbtxt whatever it is called, a plan, a predictor export), or the name of a sample: see
`gradviz samples`.
"""


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gradviz", message="%(prog)s %(version)s")
def cli() -> None:
    """A debugger for gradient generation in Caffe2 nets.

    Open a net and step through the construction of its gradients, forwards and backwards; print, draw or run it.
    """


cli.add_command(open_command)
cli.add_command(tutorial_command)
cli.add_command(trace_command)
cli.add_command(why_command)
cli.add_command(lint_command)
cli.add_command(mend_command)
cli.add_command(dot_command)
cli.add_command(report_command)
cli.add_command(serve_command)
cli.add_command(run_command)
cli.add_command(ops_command)
cli.add_command(samples_command)
cli.add_command(conformance_command)


def main() -> None:
    """What the `gradviz` script calls; it ends the process with the exit code."""
    cli.main(prog_name="gradviz")
