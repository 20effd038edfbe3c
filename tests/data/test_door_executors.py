"""Where a build runs: options of each executor, and that nothing is built otherwise for them."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from omegaconf import OmegaConf

from quickdraw.cli.inspect import inspect as inspect_command
from quickdraw.data import processors
from quickdraw.data.command_line.composing import option_kinds, parse
from quickdraw.data.command_line.help_text import commented_options, help_lines
from quickdraw.data.config_files import config_folder, group_names
from quickdraw.data.executor_options import EXECUTOR_OPTIONS
from quickdraw.data.processors import EXECUTORS, block_stack, main
from quickdraw.errors import Refused, WorkerDied
from quickdraw.pipeline.executors.inline import Inline

PROCESSOR = "processor=block_stack"
RAY = {"address": "ray://head:10001", "task_cpus": "2", "task_memory_mb": "500", "retries": "0"}
SLURM = {
    "cluster": "local", "partition": "cpu", "account": "lab", "qos": "low", "constraint": "avx2&ib", "jobs": "7",
    "job_cpus": "4", "job_memory_gb": "16", "job_minutes": "30", "job_tasks": "50", "here": "0",
}  # fmt: skip
VALUES = [("ray", name, value) for name, value in RAY.items()] + [("slurm", name, SLURM[name]) for name in SLURM]
README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
PLACES = {"ray": ("ray_cluster", "ray_cluster"), "slurm": ("slurm", "slurm_jobs")}


def options_of(executor: str, *arguments: str) -> Any:
    return parse([PROCESSOR, f"executor={executor}", *arguments]).config.executor


def refused(*arguments: str) -> list[str]:
    with pytest.raises(Refused) as refusal:
        block_stack(parse([PROCESSOR, "source.dir=/d", *arguments]).config)
    return str(refusal.value).splitlines()


def own_options(executor: str) -> set[str]:
    return {option for option in option_kinds("block_stack", executor) if option.startswith("executor.")}


def commented(executor: str) -> list[tuple[str, str, list[str]]]:
    return list(commented_options((config_folder() / f"executor/{executor}.yaml").read_text().splitlines()))


def test_every_executor_has_a_yaml_a_type_and_a_function() -> None:
    assert group_names("executor") == sorted(EXECUTOR_OPTIONS) == sorted(EXECUTORS)


@pytest.mark.parametrize("executor", EXECUTOR_OPTIONS)
def test_the_options_of_an_executor_are_those_of_its_yaml_and_of_this_file(executor: str) -> None:
    loaded = OmegaConf.to_container(OmegaConf.load(config_folder() / f"executor/{executor}.yaml"))
    told = {f"executor.{name}" for name in map(str, loaded or {})}
    assert told == own_options(executor) == {f"executor.{name}" for each, name, _ in VALUES if each == executor}


@pytest.mark.parametrize(("executor", "name", "value"), VALUES)
def test_an_option_of_an_executor_is_taken_however_it_is_spelt(executor: str, name: str, value: str) -> None:
    plain, *rest = [options_of(executor, f"{plus}executor.{name}={value}") for plus in ("", "+", "++")]
    assert rest == [plain, plain]
    default = vars(options_of(executor))
    assert {each for each, given in vars(plain).items() if given != default[each]} == {name}


@pytest.mark.parametrize(("executor", "name", "value"), VALUES)
def test_an_option_of_an_executor_needs_that_executor(executor: str, name: str, value: str) -> None:
    for other in {*EXECUTOR_OPTIONS} - {executor}:
        assert refused(f"executor={other}", f"executor.{name}={value}") == [
            f"command line: option: found executor.{name} with executor={other}, expected executor={executor} with it; "
            f"override: +executor={executor}"
        ]


def test_a_misspelt_option_of_an_executor_is_refused_with_the_nearest() -> None:
    (line,) = refused("executor=ray", "executor.adress=auto")
    assert line.startswith("command line: option: found executor.adress (did you mean executor.address")


OUT_OF_RANGE = {
    "ray": [
        *((f"address={address!s}", f"found '{address}', expected auto, local, <host>:<port> or ray://<host>:<port>")
          for address in ("", "head", "http://head:1", "ray://head", "head:x", "a b:1", "head:6379/x", "Auto")),
        *((f"task_cpus={cpus}", f"found {float(cpus)}, expected 0.01 to 1, or a whole number up to 512")
          for cpus in ("0", "-1", "1.5", "513", "nan", "inf")),
        ("task_memory_mb=63", "found 63, expected 64 to 1000000 MB, or null"),
        ("retries=-1", "found -1, expected 0 to 100"),
        ("retries=101", "found 101, expected 0 to 100"),
    ],
    "slurm": [
        ("cluster=pbs", "found pbs, expected slurm or local"),
        *((f"{name}= ", "found ' ', expected a name, or null")
          for name in ("partition", "account", "qos", "constraint")),
        ("jobs=0", "found 0, expected 1 to 10000"),
        ("job_cpus=513", "found 513, expected 1 to 512"),
        ("job_memory_gb=0", "found 0, expected 1 to 4096 GB, or null"),
        ("job_minutes=4", "found 4, expected 5 to 43200 min (30 days)"),
        ("job_tasks=0", "found 0, expected 1 to 100000"),
        ("here=-1", "found -1, expected 0 to 1000000"),
    ],
}  # fmt: skip
WRONG = [(executor, argument, told) for executor, each in OUT_OF_RANGE.items() for argument, told in each]


@pytest.mark.parametrize(("executor", "argument", "told"), WRONG)
def test_an_executors_option_outside_its_range_is_refused_with_the_range(
    executor: str, argument: str, told: str
) -> None:
    name = argument.partition("=")[0]
    line = f"command line: executor.{name}: {told}; override: +executor.{name}=..."
    assert refused(f"executor={executor}", f"executor.{argument}") == [line]


@pytest.mark.parametrize("executor", OUT_OF_RANGE)
def test_every_option_of_an_executor_is_told_in_one_round_with_the_processors(executor: str) -> None:
    wrong = {argument.partition("=")[0]: f"executor.{argument}" for argument, _ in OUT_OF_RANGE[executor]}
    lines = refused(f"executor={executor}", "source.val_frac=2", *wrong.values())
    names = {line.split(": ")[1] for line in lines}
    assert names == {"source.val_frac", *(f"executor.{name}" for name in wrong)}


@pytest.mark.parametrize(
    ("executor", "argument"),
    [("ray", f"address={address}") for address in ("auto", "local", "10.0.0.1:6379", "[::1]:6379", "ray://[fe80::1]:1")]
    + [("ray", f"task_cpus={cpus}") for cpus in ("0.01", "0.5", "1", "2.0", "512")]
    + [("ray", "task_memory_mb=64"), ("ray", "task_memory_mb=null"), ("ray", "retries=0"), ("ray", "retries=100")]
    + [("slurm", each) for each in ("jobs=10000", "job_cpus=512", "job_memory_gb=null", "job_memory_gb=4096", "here=0",
                                    "job_minutes=5", "job_minutes=43200", "job_tasks=100000", "qos=null")],
)  # fmt: skip
def test_the_ends_of_an_executors_ranges_are_within_them(executor: str, argument: str) -> None:
    block_stack(parse([PROCESSOR, "source.dir=/d", f"executor={executor}", f"executor.{argument}"]).config)


def test_defaults_are_those_that_the_pages_tell_of() -> None:
    ray, slurm = options_of("ray"), options_of("slurm")
    assert (ray.address, ray.task_cpus, ray.task_memory_mb, ray.retries) == ("auto", 1, None, 3)
    assert (slurm.cluster, slurm.jobs, slurm.job_cpus, slurm.job_minutes) == ("slurm", 100, 8, 60)
    assert (slurm.job_memory_gb, slurm.job_tasks, slurm.here) == (None, 1000, 32)


@pytest.mark.parametrize("executor", EXECUTOR_OPTIONS)
def test_where_a_build_runs_is_no_part_of_what_it_makes(executor: str) -> None:
    given = [f"executor.{name}={value}" for each, name, value in VALUES if each == executor]
    plain, elsewhere = (
        block_stack(parse([PROCESSOR, "source.dir=/d", *arguments]).config)
        for arguments in ([], [f"executor={executor}", *given])
    )
    assert elsewhere == plain  # all that the pipeline is told, `content` of provenance.json and fingerprints among it


@pytest.mark.parametrize("executor", EXECUTOR_OPTIONS)
def test_help_explains_the_options_of_an_executor(executor: str) -> None:
    every, alone = list(help_lines("block_stack")), list(help_lines("block_stack", executor))
    config = options_of(executor)
    for name, default, comment in commented(executor):
        at = every.index(f"  executor.{name}={default}")
        assert [line.strip() for line in every[at + 1 : at + 1 + len(comment)]] == comment
        assert getattr(options_of(executor, f"executor.{name}={default}"), name) == getattr(config, name)
    headings = [line for line in alone if line.startswith("executor=")]
    assert headings == ([f"executor={executor} options"] if commented(executor) else [])
    assert {line.strip().partition("=")[0] for line in alone if line.startswith("  executor.")} == own_options(executor)


@pytest.mark.parametrize("executor", EXECUTOR_OPTIONS)
def test_the_readme_lists_the_options_of_an_executor_with_their_defaults(executor: str) -> None:
    for name, default, _ in commented(executor):
        (row,) = [line for line in README.splitlines() if line.startswith(f"| `executor.{name}` |")]
        assert default == "null" or f"`{default}`" in row.split("|")[2]
    assert f"`{executor}`" in next(line for line in README.splitlines() if line.startswith("| `executor` |"))


class Watched(Inline):
    """An executor that writes down what it is asked."""

    def __init__(self) -> None:
        self.places = list[Path]()

    def refuse_unseen(self, place: Path) -> None:
        self.places.append(place)


@pytest.fixture
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Watched, dict[str, Any]]:
    """In the place of an engine one that is none, and what it was opened with."""
    executor, given = Watched(), dict[str, Any]()

    @contextlib.contextmanager
    def open_engine(**arguments: Any) -> Iterator[Watched]:
        given.update(arguments)
        yield executor

    module, name = PLACES[request.param]
    stand_in = ModuleType(module)
    setattr(stand_in, name, open_engine)
    monkeypatch.setitem(sys.modules, f"quickdraw.pipeline.executors.{module}", stand_in)
    monkeypatch.setattr(processors, "find_spec", lambda _: True)
    return executor, given


@pytest.mark.parametrize(("engine", "executor"), [("ray", "ray"), ("slurm", "slurm")], indirect=["engine"])
def test_an_engine_is_opened_with_its_options_and_asked_whether_it_sees_the_tree(
    executor: str, engine: tuple[Watched, dict[str, Any]], five: dict[str, Any], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    output = tmp_path / "out"
    given = {name: value for each, name, value in VALUES if each == executor}
    options = [f"executor.{name}={value}" for name, value in given.items()]
    places = [f"source.dir={tmp_path / 'tree'}", f"output.dir={output}"]
    told = [PROCESSOR, *places, f"executor={executor}", *options, "source.objects=none", "source.workers=3"]
    assert main([*told, "dry_run=true"]) == 0
    assert f"executor={executor}: up to 1 task at once" in capsys.readouterr().out
    asked, opened_with = engine
    assert asked.places == [tmp_path / "tree"]
    extra = {"workers": 3} | ({"folder": tmp_path / ".out.jobs"} if executor == "slurm" else {})
    assert opened_with == vars(options_of(executor, *options)) | extra
    assert not output.exists()
    inspect_command(tmp_path / "tree", [PROCESSOR, *told[2:]])
    assert asked.places == [tmp_path / "tree"] * 2


@pytest.mark.parametrize("executor", PLACES)
def test_an_engine_takes_the_arguments_that_the_door_gives(executor: str) -> None:
    module, name = PLACES[executor]
    opened = getattr(importlib.import_module(f"quickdraw.pipeline.executors.{module}"), name)
    extra = {"workers", "folder"} if executor == "slurm" else {"workers"}
    assert {*inspect.signature(opened).parameters} == {each.name for each in fields(EXECUTOR_OPTIONS[executor])} | extra


@pytest.mark.parametrize(("executor", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_an_extra_that_is_not_installed_is_named(
    executor: str, package: str, five: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(processors, "find_spec", lambda name: None if name == package else True)
    given = [f"source.dir={tmp_path / 'tree'}", f"output.dir={tmp_path / 'out'}", f"executor={executor}"]
    assert main([PROCESSOR, *given]) == 2
    assert capsys.readouterr().err.splitlines()[0] == (
        f"refused: command line: executor: found {executor} without {package}, expected the extra; get it by: "
        f"pip install 'quickdraw[{executor}]'"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree"]


@pytest.mark.parametrize("engine", ["ray"], indirect=True)
def test_a_worker_that_dies_again_and_again_is_a_failure_of_ours_in_a_line(
    engine: tuple[Watched, dict[str, Any]], five: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def die(*_: Any) -> Iterator[Any]:
        raise WorkerDied("campaign3-play/recording_1: its worker on node-2 was killed 4 times")

    monkeypatch.setattr(Watched, "run", die)
    given = [f"source.dir={tmp_path / 'tree'}", f"output.dir={tmp_path / 'out'}", "executor=ray"]
    assert main([PROCESSOR, *given]) == 1
    assert capsys.readouterr().err == "failed: campaign3-play/recording_1: its worker on node-2 was killed 4 times\n"
