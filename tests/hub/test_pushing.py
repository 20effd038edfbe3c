"""What a push sends, and what it leaves where it is, against a stand-in of the Hub."""

from __future__ import annotations

import ast
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quickdraw.errors import Refused
from quickdraw.hub import cargo
from quickdraw.hub.cargo import Item, cargo_of
from quickdraw.hub.push import Options, Pushed, push
from quickdraw.hub.repository import _operation
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.report.cards.card import BEGIN, END
from quickdraw.report.views import VERSION

pytestmark = [
    pytest.mark.usefixtures("logged_in"),
    pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload:DeprecationWarning"),  # huggingface_hub's own
]
NAME = "me/stack"


def pushed(dataset: Path, address: str = NAME, **options: Any) -> Pushed:
    [done] = push(dataset, address, Options(**options), PlainProgress())
    return done


def on_disk(dataset: Path, names: list[str]) -> dict[str, str]:
    return {name: hashlib.sha256((dataset / name).read_bytes()).hexdigest() for name in names}


def on_hub(hub: Any, address: str = NAME) -> dict[str, str]:
    return {name: blob.sha256 for name, blob in hub.repos[address].files.items()}


def built_files(dataset: Path, media: bool = False) -> list[str]:
    """The oracle: every file the build lists, and the list."""
    listed = json.loads((dataset / "fingerprints/files.json").read_text())
    return sorted({"fingerprints/files.json", *(name for name in listed if media or not name.startswith("media/"))})


def replaced(path: Path, content: bytes) -> None:
    path.unlink()  # it is a link to what all tests share
    path.write_bytes(content)


def stamped(dataset: Path) -> str:
    """The oracle: the stamp that views of what a dataset holds have."""
    return f"{hashlib.sha256((dataset / 'fingerprints/files.json').read_bytes()).hexdigest()} {VERSION}"


def with_page(dataset: Path, stamp: str | None = None) -> bytes:
    """Put a page into a dataset, of what it holds unless told otherwise."""
    page = f'<html><meta name="quickdraw" content="{stamp or stamped(dataset)}"></html>'.encode()
    (dataset / "report.html").unlink(missing_ok=True)
    (dataset / "report.html").write_bytes(page)
    return page


def listed_anew(dataset: Path) -> None:
    """The inventory of the files that are there, as a build would write it."""
    listed = json.loads((dataset / "fingerprints/files.json").read_text())
    anew = {}
    for name in listed:
        if (dataset / name).exists():
            content = (dataset / name).read_bytes()
            anew[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    replaced(dataset / "fingerprints/files.json", (json.dumps(anew, indent=1) + "\n").encode())


def test_the_first_push_sends_the_built_files_and_the_card_and_no_clip_of_media(hub: Any, dataset: Path) -> None:
    (dataset / "notes.txt").write_text("mine")
    page = with_page(dataset)
    done = pushed(dataset)
    files = on_hub(hub)
    assert {name: files[name] for name in built_files(dataset)} == on_disk(dataset, built_files(dataset))
    assert set(files) - set(built_files(dataset)) == {"README.md", ".gitattributes", "report.html"}
    assert files["report.html"] == hashlib.sha256(page).hexdigest()
    assert set(done.sent) == set(files) - {".gitattributes"}
    assert done.bytes == sum(len(blob.content) for name, blob in hub.repos[NAME].files.items() if name in done.sent)
    assert done.url == f"{hub.endpoint}/datasets/{NAME}"
    assert hub.repos[NAME].tags == {"v3.0": hub.repos[NAME].head}
    assert not hub.repos[NAME].private
    assert f'snapshot_download("{NAME}"' in hub.repos[NAME].files["README.md"].content.decode()


def test_a_second_push_sends_nothing_and_leaves_commits_and_tag(hub: Any, dataset: Path) -> None:
    pushed(dataset)
    commits, begun = list(hub.repos[NAME].commits), len(hub.seen)
    done = pushed(dataset)
    assert (done.sent, done.deleted, done.commits) == ((), (), 0)
    assert done.same == len(built_files(dataset)) + sum((dataset / view).exists() for view in ("report.html",)) + 1
    assert list(hub.repos[NAME].commits) == commits
    assert {method for method, _ in hub.seen[begun:]} == {"GET", "HEAD"}


def test_media_is_sent_where_asked_for_and_then_left_as_long_as_it_is_the_datasets(hub: Any, small: Path) -> None:
    pushed(small, media=True)
    assert set(built_files(small, media=True)) <= set(on_hub(hub))
    assert pushed(small).deleted == ()
    clips = sorted(name for name in built_files(small, media=True) if name.startswith("media/"))
    replaced(small / clips[0], b"another clip")
    (small / clips[1]).unlink()
    listed_anew(small)
    done = pushed(small)
    assert done.deleted == (clips[0], clips[1])
    assert done.sent == ("README.md", "fingerprints/files.json")
    assert clips[2] in on_hub(hub)


def test_after_a_rebuild_only_what_changed_is_sent_and_what_is_no_more_goes(hub: Any, dataset: Path) -> None:
    (dataset / "report.html").unlink(missing_ok=True)
    pushed(dataset)
    tagged = hub.repos[NAME].tags["v3.0"]
    replaced(dataset / "summary.json", (dataset / "summary.json").read_bytes() + b"\n")
    gone = "measured/scene_left/val/ep_0000.npz"
    assert gone in on_hub(hub)
    (dataset / gone).unlink()
    listed_anew(dataset)
    done = pushed(dataset)
    assert set(done.sent) == {"summary.json", "fingerprints/files.json", "README.md"}
    assert done.deleted == (gone,)
    assert gone not in on_hub(hub)
    assert hub.repos[NAME].tags["v3.0"] == hub.repos[NAME].head != tagged


def test_a_file_of_somebody_else_stays_unless_it_is_to_go(hub: Any, stand_in: ModuleType, small: Path) -> None:
    pushed(small)
    repo = hub.repos[NAME]
    repo.commit(repo.files | {"train/notes.md": stand_in.Blob(b"theirs", False)}, "by hand")
    assert pushed(small).deleted == ()
    assert "train/notes.md" in on_hub(hub)
    assert repo.tags["v3.0"] == repo.head
    assert pushed(small, delete_others=True).deleted == ("train/notes.md",)
    assert set(on_hub(hub)) >= {".gitattributes", "README.md", *built_files(small)}


def test_a_repository_of_something_else_is_refused_unless_forced(hub: Any, stand_in: ModuleType, small: Path) -> None:
    repo = hub.repos[NAME] = stand_in.Repo(private=False)
    repo.commit({"model.bin": stand_in.Blob(b"weights", True), "README.md": stand_in.Blob(b"# Mine\n", False)}, "x")
    with pytest.raises(Refused, match=r"1 files of something else \(model\.bin"):
        pushed(small)
    assert len(repo.commits) == 1
    pushed(small, force=True)
    assert {"model.bin", *built_files(small)} <= set(on_hub(hub))
    assert repo.files["README.md"].content == b"# Mine\n"  # somebody's own words stay
    assert pushed(small).deleted == ()
    pushed(small, delete_others=True)
    assert BEGIN in repo.files["README.md"].content.decode()


def test_another_dataset_is_not_replaced_unless_forced(hub: Any, small: Path) -> None:
    pushed(small)
    told = json.loads((small / "summary.json").read_text()) | {"name": "cups"}
    replaced(small / "summary.json", json.dumps(told).encode())
    listed_anew(small)
    with pytest.raises(Refused, match="another dataset, 'block_stack'"):
        pushed(small)
    assert set(pushed(small, force=True).sent) == {"summary.json", "fingerprints/files.json", "README.md"}


def test_what_people_wrote_into_the_card_is_kept_there_and_here(hub: Any, stand_in: ModuleType, small: Path) -> None:
    repo = hub.repos[NAME] = stand_in.Repo(private=False)
    front = b"---\nlicense: cc-by-4.0\nlanguage:\n- en\n---\n"
    repo.commit({"README.md": stand_in.Blob(front, False)}, "made on the Hub's page")
    pushed(small)
    text = repo.files["README.md"].content.decode()
    assert "license: cc-by-4.0\nlanguage:\n- en\n" in text
    written = text[: text.index(BEGIN)] + f"{BEGIN}\nPlease cite us \u00e9 \u624b.\n{END}\n"
    repo.commit(repo.files | {"README.md": stand_in.Blob(written.encode(), False)}, "by hand")
    assert pushed(small).sent == ()
    listed_anew(small)
    pushed(small)
    assert "Please cite us \u00e9 \u624b." in repo.files["README.md"].content.decode()


def test_private_is_created_private_and_never_taken_for_a_public_one(hub: Any, small: Path) -> None:
    pushed(small, private=True)
    assert hub.repos[NAME].private
    pushed(small, private=True)
    pushed(small, "me/open")
    with pytest.raises(Refused, match="one that everybody sees"):
        pushed(small, "me/open", private=True)


def test_a_dry_run_tells_what_would_be_done_and_changes_nothing(hub: Any, small: Path) -> None:
    told = pushed(small, dry_run=True)
    assert not hub.repos
    assert told.commits == 2
    assert set(told.sent) >= {"README.md", *built_files(small)}
    pushed(small)
    replaced(small / "summary.json", (small / "summary.json").read_bytes() + b"\n")
    listed_anew(small)
    begun = len(hub.seen)
    assert set(pushed(small, dry_run=True).sent) == {"summary.json", "fingerprints/files.json", "README.md"}
    assert {method for method, _ in hub.seen[begun:]} == {"GET", "HEAD"}


def test_commits_are_bounded_and_the_inventory_and_deletions_go_with_the_first(
    hub: Any, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quickdraw.hub.plan.MOST_FILES", 40)
    done = pushed(dataset)
    assert done.commits == 1 + -(-(len(done.sent) - 2) // 40) == len(hub.repos[NAME].messages) - 1
    assert set(list(hub.repos[NAME].commits.values())[1]) == {
        "README.md", "fingerprints/files.json", ".gitattributes"
    }  # fmt: skip
    monkeypatch.setattr("quickdraw.hub.plan.MOST_BYTES", 1 << 20)
    small = pushed(dataset, "me/small")
    assert small.commits > 5
    assert set(hub.arrived.values()) == {1}


def test_a_split_of_its_own_repository_is_a_dataset_at_the_root(hub: Any, dataset: Path) -> None:
    done = push(dataset, NAME, Options(per_split=True), PlainProgress())
    assert [one.address for one in done] == [f"{NAME}-{s}" for s in ("train", "val", "eval_purple_play",
                                                                      "eval_purple_stack")]  # fmt: skip
    files = hub.repos[f"{NAME}-val"].files
    names = [name for name in built_files(dataset) if name.startswith("val/")]
    assert {f"val/{name}" for name in files if (dataset / "val" / name).is_file()} == set(names)
    assert set(files) - {name.removeprefix("val/") for name in names} == {
        "README.md", ".gitattributes", "normalization_stats.json", "fingerprints/files.json"
    }  # fmt: skip
    listed = json.loads(files["fingerprints/files.json"].content)
    assert all(told["sha256"] == files[name].sha256 for name, told in listed.items())
    assert set(listed) == set(files) - {"README.md", ".gitattributes", "fingerprints/files.json"}
    assert all(hub.repos[one.address].tags["v3.0"] == hub.repos[one.address].head for one in done)
    again = push(dataset, NAME, Options(per_split=True), PlainProgress())
    assert not any(one.sent or one.deleted for one in again)


def test_all_that_is_wrong_here_is_told_before_the_hub_is_asked(
    hub: Any, dataset: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (dataset / "val/meta/info.json").unlink()
    replaced(dataset / "summary.json", b"{}")
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(Refused) as refused:
        push(dataset, "no name", Options(), PlainProgress())
    found = {(fault.field, fault.found) for fault in refused.value.faults}
    assert found == {("--repo", "'no name'"), ("login", "no token"), ("files", "nothing there"),
                     ("files", "a file that was changed since")}  # fmt: skip
    assert "hf auth login" in str(refused.value)
    assert hub.seen == []


def test_a_file_whose_content_alone_changed_is_found_before_anything_is_sent(hub: Any, dataset: Path) -> None:
    content = bytearray((dataset / "val/meta/stats.json").read_bytes())
    content[-2] ^= 1
    replaced(dataset / "val/meta/stats.json", bytes(content))
    with pytest.raises(Refused, match=r"val/meta/stats\.json: files: found a file that was changed since"):
        pushed(dataset)
    assert not hub.repos


@pytest.mark.parametrize("vanished", [False, True])
def test_what_changes_while_it_is_pushed_is_not_sent(
    vanished: bool, hub: Any, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = cargo.changed

    def checked_then_changed(*arguments: Any) -> Any:
        yield from check(*arguments)
        content = (small / "summary.json").read_bytes()
        replaced(small / "summary.json", content.replace(b"block_stack", b"block_stuck"))
        if vanished:
            (small / "summary.json").unlink()

    monkeypatch.setattr("quickdraw.hub.push.changed", checked_then_changed)
    with pytest.raises(Refused, match=r"summary\.json: content: found a file that was changed since"):
        pushed(small)
    assert "summary.json" not in hub.repos[NAME].files
    assert hub.repos[NAME].tags == {}


def test_clips_cannot_go_with_a_split(hub: Any, dataset: Path) -> None:
    with pytest.raises(Refused, match="one of the two"):
        push(dataset, NAME, Options(media=True, per_split=True), PlainProgress())
    assert hub.seen == []


@pytest.mark.parametrize("name", ["stack", "me/", "/stack", "me/a/b", "me/手套", "me/--x", "me/" + "x" * 97, "me/a b"])
def test_a_name_the_hub_would_not_take_is_refused(name: str, dataset: Path) -> None:
    with pytest.raises(Refused, match="--repo"):
        pushed(dataset, name)


def test_a_dataset_of_others_is_refused(dataset: Path) -> None:
    (dataset / "fingerprints/files.json").unlink()
    with pytest.raises(Refused, match="inventory: found none of ours"):
        pushed(dataset)


@pytest.mark.parametrize("view", ["README.md", "report.html"])
@pytest.mark.parametrize("per_split", [False, True])
def test_what_a_link_in_the_place_of_a_view_leads_to_is_never_sent(
    view: str, per_split: bool, hub: Any, dataset: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "token"
    secret.write_text("hf_made_up")
    (dataset / view).unlink(missing_ok=True)
    (dataset / view).symlink_to(secret)
    with pytest.raises(Refused, match=f"{view}: found a link to .*token"):
        push(dataset, NAME, Options(per_split=per_split), PlainProgress())
    assert hub.seen == []


@pytest.mark.parametrize("stamp", [None, "0" * 64 + " 1", "older"])
def test_a_page_that_is_not_of_the_dataset_is_left_out_and_told_of(stamp: str | None, hub: Any, small: Path) -> None:
    with_page(small, f"{stamped(small).split()[0]} 0" if stamp == "older" else stamp)
    if stamp is None:
        replaced(small / "report.html", b"<html>")
    progress = PlainProgress()
    push(small, NAME, Options(), progress)
    assert "report.html" not in on_hub(hub)
    assert any("report.html" in line and f"`quickdraw report {small}`" in line for line in progress.lines)


def test_a_card_that_is_not_of_the_dataset_is_made_anew_with_what_a_person_wrote(hub: Any, small: Path) -> None:
    old = f"---\nlicense: mit\n---\n<!-- quickdraw: {'0' * 64} 1 -->\n# Old numbers\n{BEGIN}\nCite us.\n{END}\n"
    (small / "README.md").unlink(missing_ok=True)
    (small / "README.md").write_text(old)
    pushed(small)
    text = hub.repos[NAME].files["README.md"].content.decode()
    assert "Old numbers" not in text
    assert f"<!-- quickdraw: {stamped(small)} -->" in text
    assert "license: mit\n" in text
    assert f"{BEGIN}\nCite us.\n{END}" in text
    assert (small / "README.md").read_text() == old  # what is here is left to `quickdraw report`


@pytest.mark.parametrize("per_split", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_a_page_there_that_no_push_sent_stays(
    per_split: bool, own: bool, hub: Any, stand_in: ModuleType, small: Path
) -> None:
    push(small, NAME, Options(per_split=per_split), PlainProgress())
    repo = hub.repos[address := f"{NAME}-val" if per_split else NAME]
    theirs = stand_in.Blob(with_page(small) if per_split else b"<html>mine</html>", False)
    repo.commit(repo.files | {"report.html": theirs}, "by hand")
    (small / "report.html").unlink(missing_ok=True)
    if own:
        with_page(small)
    progress = PlainProgress()
    [done] = push(small, NAME, Options(per_split=per_split), progress)
    assert (done.sent, done.deleted) == ((), ())
    assert on_hub(hub, address)["report.html"] == theirs.sha256
    assert any("that is there is not quickdraw's" in line for line in progress.lines) == (own and not per_split)
    [done] = push(small, NAME, Options(per_split=per_split, delete_others=True), PlainProgress())
    assert "report.html" in (done.sent if own and not per_split else done.deleted)


def test_a_page_that_an_earlier_push_sent_is_replaced_and_goes_with_the_datasets(hub: Any, small: Path) -> None:
    with_page(small, stamped(small))
    pushed(small)
    replaced(small / "summary.json", (small / "summary.json").read_bytes() + b"\n")
    listed_anew(small)
    page = with_page(small)
    assert "report.html" in pushed(small).sent
    assert on_hub(hub)["report.html"] == hashlib.sha256(page).hexdigest()
    (small / "report.html").unlink()
    assert pushed(small).deleted == ("report.html",)


def test_a_licence_the_hub_does_not_know_is_refused_before_any_upload(hub: Any, dataset: Path) -> None:
    (dataset / "README.md").unlink(missing_ok=True)
    (dataset / "README.md").write_text("---\nlicense: mine-alone\n---\n# Mine\n")
    with pytest.raises(Refused, match=r'README\.md: found .*"license" must be one of'):
        pushed(dataset)
    assert not hub.storage


@pytest.fixture
def small(dataset: Path) -> Path:
    """Its val alone, with what lies beside the splits."""
    kept = (
        "val/",
        "measured/scene_left/val/",
        "fingerprints/val",
        "summary.json",
        "provenance.json",
        "normali",
        "media",
    )
    for name in built_files(dataset, media=True):
        if not name.startswith((*kept, "fingerprints/files.json")):
            (dataset / name).unlink()
    listed_anew(dataset)
    return dataset


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nobody waits: how long it would have been."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: found.append(seconds) if seconds else None)
    return found


TROUBLES = [("POST", "/api/repos/create", 500), ("POST", "*/commit/*", 503), ("POST", "*/preupload/*", 0),
            ("POST", "*/objects/batch", 502), ("PUT", "/storage/*", 0), ("PUT", "/storage/*", 500),
            ("POST", "/api/validate-yaml", 500), ("GET", "*/tree/*", 504), ("GET", "*/refs", 0),
            ("POST", "*/tag/*", 500), ("POST", "*/commit/*", 412)]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "status"), TROUBLES)
def test_a_hub_that_fails_now_and_then_is_asked_again(
    method: str, path: str, status: int, hub: Any, stand_in: ModuleType, small: Path, waited: list[float]
) -> None:
    trouble = stand_in.Trouble(method, path, status, times=2)
    hub.trouble.append(trouble)
    pushed(small)
    assert trouble.times == 0
    assert waited
    assert set(built_files(small)) <= set(on_hub(hub))
    assert hub.repos[NAME].tags == {"v3.0": hub.repos[NAME].head}


def test_a_commit_whose_answer_was_lost_is_not_made_twice(
    hub: Any, stand_in: ModuleType, small: Path, waited: list[float]
) -> None:
    pushed(small)
    before = len(hub.repos[NAME].commits)
    gone = "measured/scene_left/val/ep_0000.npz"
    (small / gone).unlink()
    listed_anew(small)
    hub.trouble.append(stand_in.Trouble("POST", "*/commit/*", 0, times=1, after=True))
    pushed(small)
    assert len(hub.repos[NAME].commits) == before + 1
    assert gone not in on_hub(hub)
    assert waited


def test_a_hub_that_wants_to_be_left_alone_is(hub: Any, stand_in: ModuleType, small: Path, waited: list[float]) -> None:
    hub.trouble.append(stand_in.Trouble("POST", "*/commit/*", 429, times=1, headers={"Retry-After": "37"}))
    pushed(small)
    assert 37 in waited


def test_a_connection_on_which_nothing_comes_is_given_up(
    hub: Any, stand_in: ModuleType, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quickdraw.hub.repository.PATIENCE_S", 1.0)
    hub.trouble.append(stand_in.Trouble("GET", "*/refs", -1, times=1))
    pushed(small)
    assert hub.repos[NAME].tags == {"v3.0": hub.repos[NAME].head}


@pytest.mark.parametrize("wrong", [ConnectionResetError("reset"), TimeoutError(), RuntimeError("a word of its own")])
def test_an_upload_by_hf_xet_that_breaks_off_is_begun_again(
    wrong: Exception, hub: Any, small: Path, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.utils import validate_hf_hub_args  # type: ignore[attr-defined]  # public by its documentation

    send, left = HfApi.preupload_lfs_files, [wrong, wrong]

    @validate_hf_hub_args  # as all of its methods are: one of its frames is on the way
    def breaking(*arguments: Any, **named: Any) -> None:
        if left:
            raise left.pop()
        send(*arguments, **named)

    monkeypatch.setattr(HfApi, "preupload_lfs_files", breaking)
    pushed(small)
    assert waited == [1, 2]
    assert set(built_files(small)) <= set(on_hub(hub))


def test_a_bug_of_ours_is_none_of_the_hubs_and_ends_the_push_at_once(
    small: Path, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(_: object) -> None:
        raise RuntimeError("dictionary changed size during iteration")

    monkeypatch.setattr("quickdraw.hub.repository._groups", wrong)
    with pytest.raises(RuntimeError, match="dictionary changed size"):
        pushed(small)
    assert waited == []


SIGNED = "https://store.example/lfs/ab12?X-Amz-Credential=AKIA%2Feu&X-Amz-Signature=5ec3e7"


@pytest.mark.parametrize("caused", [True, False])
def test_a_signed_address_is_told_without_its_signature(
    caused: bool, small: Path, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx
    from huggingface_hub.utils import validate_hf_hub_args  # type: ignore[attr-defined]  # public by its documentation

    @validate_hf_hub_args
    def breaking(*_: Any, **__: Any) -> None:
        cause = httpx.ReadError(f"'403 Forbidden' for url '{SIGNED}' (broken pipe)")
        if caused:
            raise RuntimeError("Error while uploading") from cause
        raise cause

    monkeypatch.setattr("huggingface_hub.HfApi.preupload_lfs_files", breaking)
    progress = PlainProgress()
    with pytest.raises(OSError, match=r"url 'https://store\.example/lfs/ab12' \(broken pipe\)") as failed:
        push(small, NAME, Options(), progress)
    assert len(waited) == 5
    assert "5ec3e7" not in str(failed.value) + "".join(progress.lines)
    assert "AKIA" not in str(failed.value) + "".join(progress.lines)


def test_only_public_names_of_the_client_are_used() -> None:
    import quickdraw.hub.repository as ours

    source = ast.parse(Path(str(ours.__file__)).read_text())
    taken = [(node.module, name.name) for node in ast.walk(source) if isinstance(node, ast.ImportFrom) and node.module
             and node.module.startswith("huggingface_hub") for name in node.names]  # fmt: skip
    assert len(taken) > 5
    for module, name in taken:
        assert module in ("huggingface_hub", "huggingface_hub.errors", "huggingface_hub.utils"), (module, name)
        assert not name.startswith("_")


def test_the_client_takes_a_known_digest_and_reads_no_file_for_it(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import CommitOperationAdd

    [item] = [one for place, one in cargo_of(small, NAME, media=False).items.items() if place == "summary.json"]
    assert CommitOperationAdd(item.place, item.content).upload_info.sha256.hex() == item.sha256
    monkeypatch.setattr("huggingface_hub._commit_api.sha_fileobj", None, raising=False)
    monkeypatch.setattr("quickdraw.hub.repository.SMALL", 0)
    given = Item("summary.json", small / "summary.json", item.bytes, "0" * 64)
    assert _operation(given).upload_info.sha256 == bytes(32)


def test_a_token_that_hf_xet_does_not_take_is_refused(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: Any, **__: Any) -> None:
        raise PermissionError("not with this token")

    monkeypatch.setattr("huggingface_hub.HfApi.preupload_lfs_files", refusing)
    with pytest.raises(Refused, match="rights: found not with this token"):
        pushed(small)


def test_a_hub_that_keeps_failing_is_given_up_and_told_of(
    hub: Any, stand_in: ModuleType, small: Path, waited: list[float]
) -> None:
    hub.trouble.append(stand_in.Trouble("POST", "*/commit/*", 500, times=99))
    with pytest.raises(OSError, match="the Hub answered 500"):
        pushed(small)
    assert len(waited) == 5


def test_what_the_repository_ignores_is_told_and_not_tried_for_ever(
    hub: Any, stand_in: ModuleType, small: Path
) -> None:
    repo = hub.repos[NAME] = stand_in.Repo(private=False)
    repo.commit({".gitignore": stand_in.Blob(b"summary.json\n", False)}, "x")
    with pytest.raises(OSError, match=r"took summary\.json and does not have it"):
        pushed(small)


def test_bars_count_every_byte_once(small: Path) -> None:
    progress = PlainProgress()
    [done] = push(small, NAME, Options(), progress)
    assert any(line.startswith(f"upload {NAME}: {-(-done.bytes // 1000)}/{-(-done.bytes // 1000)} kB") for line in
               progress.lines)  # fmt: skip


Run = Callable[..., Any]


def test_the_command_says_where_it_is_how_to_load_it_and_never_the_token(
    command: Run, hub: Any, small: Path, stand_in: ModuleType
) -> None:
    done = command(small, "--repo", NAME)
    assert done.returncode == 0, done.stderr
    assert f"{hub.endpoint}/datasets/{NAME}\n" in done.stdout
    assert f'snapshot_download("{NAME}", repo_type="dataset")' in done.stdout
    assert stand_in.TOKEN not in done.stdout + done.stderr
    assert "tag v3.0" in done.stderr


@pytest.mark.parametrize(
    ("address", "token", "code", "words"),
    [("you/stack", "TOKEN", 2, "rights: found the Hub answered 403"),
     (NAME, "hf_made_up", 2, "hf auth login"),
     (NAME, None, 2, "login: found no token"),
     (NAME, "TOKEN", 1, "cannot be reached")],
)  # fmt: skip
def test_the_command_ends_with_words_and_a_code(
    address: str, token: str | None, code: int, words: str, command: Run, hub: Any, small: Path, stand_in: ModuleType
) -> None:
    told = {"token": getattr(stand_in, token or "", token)} | ({"endpoint": "http://127.0.0.1:9"} if code == 1 else {})
    done = command(small, "--repo", address, **told)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not hub.repos
    assert "hf_" not in done.stdout + done.stderr.replace("hf_auth", "")
