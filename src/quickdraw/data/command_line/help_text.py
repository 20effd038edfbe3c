"""What `--help` prints: every option with its default and what configs/ says of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quickdraw.data.command_line.arguments import NAME
from quickdraw.data.command_line.composing import COMMAND, DEFAULT_EXECUTOR
from quickdraw.data.config_files import config_folder, group_names

USAGE = f"usage: {COMMAND} +processor=<name> +source.dir=<tree> [+option=value ...]   (--help explains every option)"

FLAGS = (
    "  --quiet",
    "      on stdout nothing but the dataset's folder; on stderr what is wrong",
    "  --json",
    "      on stdout nothing but one JSON document: dataset, dry_run, up_to_date, fingerprint, splits, refused_runs,",
    "      warnings, report, bytes, seconds; of a refusal `refused`, its faults; of a failure `failed`, what",
)


def help_lines(processor: str | None = None, executor: str | None = None) -> Iterator[str]:
    """Every option; where there is a processor or an executor of that name, no other's."""
    known, engines = group_names("processor"), group_names("executor")
    shown = [processor] if processor in known else known
    running = [executor] if executor in engines else engines
    yield USAGE
    yield ""
    yield "x=, +x= and ++x= mean the same; values are taken verbatim."
    yield "lists are written [a,b]; ... in one stands for its default items."
    yield "what a processor is asked for follows under its name; --help +processor=<name> shows one of them alone,"
    yield "and --help +executor=<name> one executor."
    yield ""
    yield "  processor=<required>"
    yield f"      what is built: {', '.join(known)}"
    yield f"  executor={DEFAULT_EXECUTOR}"
    yield f"      where tasks run: {', '.join(engines)}"
    files = [("", "options of every build", "build.yaml")]
    files += [("source.", f"{name} options", f"processor/{name}.yaml") for name in shown]
    files += [("executor.", f"executor={name} options", f"executor/{name}.yaml") for name in running]
    for prefix, heading, file in files:
        options = list(commented_options((config_folder() / file).read_text(encoding="utf-8").splitlines()))
        if options:
            yield ""
            yield heading
        for name, default, comment in options:
            yield f"  {prefix}{name}={default}"
            yield from (f"      {line}" for line in comment)
    yield ""
    yield from FLAGS
    yield ""
    yield "exit codes: 0 done; 1 a failure of ours; 2 input or command refused, nothing touched; 130 interrupted"


def commented_options(lines: Iterable[str]) -> Iterator[tuple[str, str, list[str]]]:
    """(dotted name, default, comment lines above it) of each option of a commented YAML of one or two levels.

    One that is `{}` there is a list for every name it is given.
    """
    section, comment = "", list[str]()
    for line in lines:
        text = line.strip()
        if text.startswith("#"):
            comment.append(text.removeprefix("#").strip())
            continue
        name, colon, default = text.partition(":")
        if not line.startswith(" "):
            section = ""
        if colon and not default:
            section = f"{name}."
        elif default.strip() == "{}":
            yield f"{section}{name}.{NAME}", "[]", comment
        elif colon:
            yield f"{section}{name}", default.strip().replace(", ", ","), comment
        comment = []
