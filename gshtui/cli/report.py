"""`gsh-tui report`: a report of a fault for others to read, without secrets, shown before it is written."""

from __future__ import annotations

from pathlib import Path

import click

from gshtui.cli.options import SESSION, json_option, yes_option


@click.command(short_help="Make a report of a fault, without secrets.")
@click.argument("session", type=SESSION, metavar="[ID]", default="")
@click.option("--out", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write it there, after showing it.")
@yes_option("Write it without asking.")
@json_option
def report(session: str, out: Path | None, yes: bool, as_json: bool) -> int:
    """Make a report of a fault: what `gsh-tui doctor` finds, the newest crash report and, with ID, that conversation.

    Secrets that gsh-tui knows the look of are taken out, and your home is written as ~. The whole report is shown; it
    is written only with --out, after you agree.
    """
    from gshtui.headless.program.fault_report import ReportOptions, make_report

    return make_report(ReportOptions(session, out, yes, as_json))
