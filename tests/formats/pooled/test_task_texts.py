"""tasks.jsonl: one object a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quickdraw.errors import Refused
from quickdraw.formats.pooled.tasks import TaskText, read_tasks, task_line


def test_a_new_tasks_line_is_one_complete_object() -> None:
    assert task_line("手套_抓取") == '{"task_index": 0, "task": "手套_抓取"}\n'.encode()
    assert json.loads(task_line("")) == {"task_index": 0, "task": "default recording"}
    assert task_line('two\nlines "quoted"').count(b"\n") == 1


@pytest.mark.parametrize("name", ["手套_抓取", "a\u2028b", 'x\n"y"', ""])
def test_what_is_written_reads_back(tmp_path: Path, name: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(task_line(name))
    assert read_tasks(path) == (TaskText(0, name or "default recording"),)


def test_several_lines_blank_ones_and_carriage_returns_are_read(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(b'{"task_index": 0, "task": "a"}\r\n\n{"task_index": 1, "task": "b", "later": 1}')
    assert read_tasks(path) == (TaskText(0, "a"), TaskText(1, "b"))


def test_a_pretty_printed_file_is_refused_as_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps({"task_index": 3, "task": "a"}, indent=2))
    with pytest.raises(Refused, match="one object over several lines") as refused:
        read_tasks(path)
    assert [(each.line, each.path) for each in refused.value.faults] == [(1, str(path))]


def test_every_bad_line_is_told_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    bad = ["{", "[1]", '{"task": "a"}', '{"task_index": true, "task": "a"}', '{"task_index": -1, "task": "a"}']
    path.write_text("\n".join(['{"task_index": 0, "task": "a"}', *bad, '{"task_index": 0, "task": 4}']))
    with pytest.raises(Refused) as refused:
        read_tasks(path)
    assert [each.line for each in refused.value.faults] == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe"])
def test_a_file_without_a_task_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(content)
    with pytest.raises(Refused, match=r"tasks\.jsonl"):
        read_tasks(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="unreadable"):
        read_tasks(tmp_path / "tasks.jsonl")


def test_the_samples_tasks_are_read(sample_pooled: Path) -> None:
    for task in sorted((sample_pooled / "recordings").iterdir()):
        assert read_tasks(task / "meta" / "tasks.jsonl") == (TaskText(0, task.name),)
