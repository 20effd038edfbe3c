"""`quickdraw push`: a dataset to the Hugging Face Hub."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quickdraw.cli.outcomes import exit_codes
from quickdraw.pipeline.amounts import counted

if TYPE_CHECKING:
    from quickdraw.hub.push import Pushed

SHOWN = 20  # names of files that a dry run says

_Dataset = Annotated[Path, typer.Argument(help="Folder of a dataset built by quickdraw.")]
_Repo = Annotated[str, typer.Option(help="Repository on the Hub, as user/name; it is created where it is not there.")]
_Private = Annotated[bool, typer.Option("--private", help="Create it so that only you, or your organisation, see it.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be sent and deleted; change nothing.")]
_Media = Annotated[bool, typer.Option("--media", help="Send media/ too, a clip an episode and camera: twice the size.")]
_PerSplit = Annotated[
    bool, typer.Option("--per-split", help="A repository a split, user/name-train, ...: LeRobot opens them by name.")
]
_DeleteOthers = Annotated[
    bool, typer.Option("--delete-others", help="Delete files there that no push of quickdraw wrote, too.")
]
_Force = Annotated[bool, typer.Option("--force", help="Push into a repository of something else, too.")]


def push(
    dataset: _Dataset,
    *,
    repo: _Repo,
    private: _Private = False,
    dry_run: _DryRun = False,
    media: _Media = False,
    per_split: _PerSplit = False,
    delete_others: _DeleteOthers = False,
    force: _Force = False,
) -> None:
    """Send a dataset to the Hugging Face Hub: the files its build wrote, but media/, with its card and page.

    Log in first, by `hf auth login` or HF_TOKEN. What is there already is not sent again, so a push that was
    interrupted goes on where it was when it is given again. Files there that an earlier push wrote and that are no
    more in the dataset are deleted; others stay. Tag v3.0, by which LeRobot finds a dataset, is moved to the last
    commit. Exit code 0 when all of it is there, 1 when the Hub fails or cannot be reached, 2 when it is refused, 130
    when interrupted.
    """
    with exit_codes(consequence="nothing more was pushed"), redirect_stdout(sys.stderr):
        from quickdraw.hub.push import Options, push
        from quickdraw.pipeline.progress import for_this_output

        options = Options(private, dry_run, media, per_split, delete_others, force)
        pushed = push(dataset.resolve(), repo, options, for_this_output())
    for one in pushed:
        _show(one, dry_run)


def _show(pushed: Pushed, dry_run: bool) -> None:
    would = "would " if dry_run else ""
    amount = f"{_files(len(pushed.sent))} ({pushed.bytes / 1e6:,.1f} MB) in {counted(pushed.commits, 'commit')}"
    send = f"{would}send {amount}" if dry_run else f"sent {amount}"
    delete = f"{would}delete {_files(len(pushed.deleted))}" if dry_run else f"deleted {_files(len(pushed.deleted))}"
    typer.echo(f"{pushed.address}: {send}, {delete}; {_files(pushed.same)} there already")
    if dry_run:
        for sign, names in (("+", pushed.sent), ("-", pushed.deleted)):
            for name in names[:SHOWN]:
                typer.echo(f"  {sign} {name}")
            if len(names) > SHOWN:
                typer.echo(f"  {sign} ... and {len(names) - SHOWN} more")
        return
    typer.echo(pushed.url)
    typer.echo("to load it:")
    for line in _loading(pushed):
        typer.echo(f"  {line}")


def _loading(pushed: Pushed) -> list[str]:
    if pushed.split is not None:
        return ["from lerobot.datasets import LeRobotDataset", f'dataset = LeRobotDataset("{pushed.address}")']
    return [
        "from huggingface_hub import snapshot_download",
        "from lerobot.datasets import LeRobotDataset",
        f'folder = snapshot_download("{pushed.address}", repo_type="dataset")',
        'dataset = LeRobotDataset("any/name", root=f"{folder}/train")',
    ]


def _files(amount: int) -> str:
    return counted(amount, "file")
