"""What was pushed, read as others will: by the code on its card, LeRobot, `quickdraw verify`; and after a kill."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quickdraw.hub.push import Options, push
from quickdraw.pipeline.progress import PlainProgress

HERE = Path(__file__).resolve().parent
IGNORED = "ignore:Use 'content=<...>' to upload:DeprecationWarning"  # huggingface_hub's own


def card_of(hub: Any, address: str) -> str:
    text: str = hub.repos[address].files["README.md"].content.decode()
    return text


def rows_of(split: Path) -> int:
    total: int = json.loads((split / "meta/info.json").read_text())["total_frames"]
    return total


@pytest.mark.usefixtures("logged_in")
@pytest.mark.filterwarnings(IGNORED)
def test_every_line_of_code_on_the_cards_runs_and_reads_what_was_pushed(
    hub: Any, environment: Callable[..., dict[str, str]], sample_dataset: Path, pooled_dataset: Path
) -> None:
    push(sample_dataset, "me/stack", Options(), PlainProgress())
    push(sample_dataset, "me/stack", Options(per_split=True), PlainProgress())
    push(pooled_dataset, "me/pooled", Options(private=True), PlainProgress())
    places = {"me/stack": sample_dataset / "train", "me/stack-val": sample_dataset / "val",
              "me/pooled": pooled_dataset / "train"}  # fmt: skip
    cards = [{"text": card_of(hub, address), "root": str(root)} for address, root in places.items()]
    script = [sys.executable, str(HERE / "scripts/read_back.py")]
    done = subprocess.run(script, input=json.dumps({"cards": cards}), capture_output=True, text=True, check=False,
                          env=environment(), timeout=600)  # fmt: skip
    assert done.returncode == 0, done.stderr[-6000:]
    answers = json.loads(done.stdout.splitlines()[-1])
    for answer, root in zip(answers, places.values(), strict=True):
        assert answer["rows"] == rows_of(root)
        assert answer["unlike"] == []
        assert (answer["numbers"], answer["array"], answer["pinned"], answer["first"]) == (True, True, True, True)
        assert answer["rotated"] < 1e-5
        assert answer["pictures"] > 1
    assert list(answers[0]["configs"].items()) == [
        (split, rows_of(sample_dataset / split)) for split in ("train", "val", "eval_purple_play", "eval_purple_stack")
    ]
    assert answers[1]["configs"] == {"default": rows_of(sample_dataset / "val")}
    assert answers[0]["scaled"] < 1e-3  # of train, by train's statistics
    assert answers[0]["picture"] == [144, 192, 3]
    assert answers[0]["table"] == ["observation.state.ee_x_mm", "observation.state.ee_y_mm"]
    assert answers[2]["depth"][0] == "uint16"

    folder = Path(answers[0]["folder"])
    assert not (folder / "media").exists()
    [block] = [text.split("```")[0].strip() for text in card_of(hub, "me/stack").split("```bash\n")[1:]]
    assert block == "quickdraw verify ."
    command = [str(Path(sys.executable).with_name("quickdraw")), *block.split()[1:]]
    checked = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "nothing wrong" in checked.stdout


PUSH = """import sys
from pathlib import Path
from quickdraw.hub import plan
from quickdraw.hub.push import Options, push
from quickdraw.pipeline.progress import PlainProgress
plan.MOST_FILES = 9
push(Path(sys.argv[1]), "me/stack", Options(), PlainProgress())
"""


@pytest.mark.usefixtures("logged_in")
@pytest.mark.filterwarnings(IGNORED)
def test_a_push_that_is_killed_goes_on_where_it_was(
    hub: Any, environment: Callable[..., dict[str, str]], sample_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(8)
    killed = 0
    for _ in range(3):
        hub.pause_s = 0.004
        begun = len(hub.seen)
        process = subprocess.Popen([sys.executable, "-c", PUSH, str(sample_dataset)], env=environment(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        enough = begun + chance.randrange(15, 60)
        while len(hub.seen) < enough and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        if "me/stack" in hub.repos:
            assert hub.repos["me/stack"].tags == {}
    hub.pause_s = 0.0
    assert killed == 3
    monkeypatch.setattr("quickdraw.hub.plan.MOST_FILES", 9)
    [done] = push(sample_dataset, "me/stack", Options(), PlainProgress())
    listed = json.loads((sample_dataset / "fingerprints/files.json").read_text())
    files = hub.repos["me/stack"].files
    assert {name: told["sha256"] for name, told in listed.items() if not name.startswith("media/")} == {
        name: blob.sha256 for name, blob in files.items() if name in listed
    }
    assert 0 < len(done.sent) < len(files)
    assert done.same > 0
    assert set(hub.arrived.values()) == {1}  # nothing was sent twice that had arrived
    assert hub.repos["me/stack"].tags == {"v3.0": hub.repos["me/stack"].head}


@pytest.mark.usefixtures("logged_in")
def test_an_interrupted_command_ends_with_130_and_can_be_given_again(
    hub: Any, environment: Callable[..., dict[str, str]], sample_dataset: Path
) -> None:
    hub.pause_s = 0.02
    line = "from quickdraw.cli.push import push; import typer; typer.run(push)"
    command = [sys.executable, "-c", line, str(sample_dataset), "--repo", "me/stack"]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not hub.storage and process.poll() is None:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "interrupted" in said
    assert "Traceback" not in said
