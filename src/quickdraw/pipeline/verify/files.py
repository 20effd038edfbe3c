"""Every file that is referred to is there, and no other: LeRobot loads whatever Parquet lies in its folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quickdraw.formats.lerobot import schema
from quickdraw.pipeline.digests import FileDigest, digest
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.places import INVENTORY
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.json_reading import DOCUMENTS, odd, read_object
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.split_view import SplitView

FILES, DIGESTS = "files", "digests"
MEDIA_FOLDER = "media"
FOLDERS = ("data", "meta/episodes", "videos")  # in which every file must be some episode's


def check_files(split: SplitView, ledger: Ledger) -> None:
    """Files of episodes: all there, all readable, none besides."""
    with ledger.checking(DOCUMENTS, split.name):
        ledger.saw(DOCUMENTS)
        _ = split.info
    with ledger.checking(DOCUMENTS, split.name):
        ledger.saw(DOCUMENTS)
        _ = split.statistics
    with ledger.checking(FILES, split.name):
        referred = dict.fromkeys(_referred(split))
        for name in referred:
            path = split.root / name
            ledger.saw(FILES)
            if not path.is_file():
                found = "a folder" if path.is_dir() else "nothing there"
                ledger.fault(FILES, split.name, found=found, expected="a file its episodes refer to", path=path)
        for folder in FOLDERS:
            for path in sorted((split.root / folder).rglob("*")):
                if path.is_file() and str(path.relative_to(split.root)) not in referred:
                    found, expected = "a file no episode refers to", "only files of episodes: readers load them all"
                    ledger.fault(FILES, split.name, found=found, expected=expected, path=path)


def _referred(split: SplitView) -> Iterator[str]:
    yield schema.TASKS_PATH
    for entry in split.entries:
        yield entry.data
        yield entry.lies_in
        yield from (window.path for window in entry.windows.values())


def check_digests(dataset: DatasetView, ledger: Ledger, executor: Executor, progress: Progress) -> None:
    """Every file is, byte by byte, the one that was built. Later additions to the folder are none of the build's."""
    path = dataset.root / INVENTORY
    if not path.exists():
        if dataset.ours is not None and dataset.ours.fingerprinted:
            ledger.fault(DIGESTS, INVENTORY, found="nothing there", expected="a file of every build", path=path)
        else:
            ledger.skip(DIGESTS, dataset.root.name, f"no {INVENTORY}")
        return
    with ledger.checking(DIGESTS, INVENTORY):
        stamps = read_object(path)
        if not (dataset.root / MEDIA_FOLDER).is_dir() and any(name.startswith(f"{MEDIA_FOLDER}/") for name in stamps):
            ledger.skip(DIGESTS, INVENTORY, f"no {MEDIA_FOLDER}/")  # as one that comes from the Hub
            stamps = {name: stamp for name, stamp in stamps.items() if not name.startswith(f"{MEDIA_FOLDER}/")}
        found = _digests(dataset.root, stamps, executor, progress)
        for name, stamp in stamps.items():
            ledger.saw(DIGESTS)
            _check_digest(dataset.root, name, stamp, found.get(name), ledger)
        for split in dataset.splits.values():
            for held in sorted(file for folder in ("meta", *FOLDERS) for file in (split.root / folder).rglob("*")):
                if held.is_file() and str(held.relative_to(dataset.root)) not in stamps:
                    expected = "only files that were built"
                    ledger.fault(DIGESTS, INVENTORY, found="a file it does not list", expected=expected, path=held)


def _digests(
    root: Path, stamps: Mapping[str, Any], executor: Executor, progress: Progress
) -> dict[str, FileDigest | str]:
    """File -> its digest, or why there is none, of the files inside the dataset."""
    tasks = [DigestTask(root, name) for name, stamp in stamps.items() if _is_entry(name, stamp)]
    found = dict[str, FileDigest | str]()
    with progress.stage("digest", len(tasks), "files") as meter:
        for name, result in executor.run(take_digest, tasks):
            found[name] = result
            meter.advance(1)
    return found


@dataclass(frozen=True, slots=True)
class DigestTask:
    """Read a file of a dataset through."""

    root: Path
    name: str


def take_digest(task: DigestTask) -> tuple[str, FileDigest | str]:
    """The file's name and digest, or what is there instead."""
    path = task.root / task.name
    try:
        return task.name, digest(path) if path.is_file() else "nothing there"
    except OSError as error:
        return task.name, f"unreadable ({error.strerror})"


def _is_entry(name: str, stamp: object) -> bool:
    return isinstance(stamp, dict) and not Path(name).is_absolute() and ".." not in Path(name).parts


def _check_digest(root: Path, name: str, stamp: Any, found: FileDigest | str | None, ledger: Ledger) -> None:
    if found is None:
        expected = "a path inside the dataset, with bytes and sha256"
        ledger.fault(DIGESTS, INVENTORY, found=f"an entry {odd(name)}", expected=expected)
    elif isinstance(found, str):
        ledger.fault(DIGESTS, INVENTORY, found=found, expected="the file that was built", path=root / name)
    elif asdict(found) != stamp:
        told = f"{found.bytes} bytes, sha256 {found.sha256[:12]}..."
        expected = f"{odd(stamp.get('bytes'))} bytes, sha256 {str(stamp.get('sha256'))[:12]}..."
        ledger.fault(DIGESTS, INVENTORY, found=told, expected=expected, path=root / name)
