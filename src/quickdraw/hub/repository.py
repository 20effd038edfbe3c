"""A dataset repository on the Hub, through huggingface_hub. Errors are told as what they are: a user's, a network's.

Nothing here tries again by itself but what huggingface_hub does: `Unreached` says that trying again may help.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import walk_tb
from typing import TYPE_CHECKING

import quickdraw
from quickdraw.errors import Fault, Refused
from quickdraw.hub.cargo import Item, content_of, inventory_in
from quickdraw.hub.plan import Held, There
from quickdraw.pipeline.places import INVENTORY

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError

KIND = "dataset"
PASSING = (408, 409, 412, 429, 500, 502, 503, 504)  # 409 and 412: somebody committed at the same moment
TOGETHER = 64 << 20  # bytes that are sent before the bar moves; a larger file goes alone
SMALL = 1 << 20  # bytes; as many files as a commit holds are in memory at once
CLIENT = ("huggingface_hub", "hf_xet")
QUERY = re.compile(r"\?[\w.%+~-]+=[^\s'\"<>]*")
PATIENCE_S = 300.0  # with a connection on which nothing comes; a large commit takes the Hub a minute
WRITING = "a token that may write to this repository"
LOGIN = "a token that the Hub takes: `hf auth login`, or HF_TOKEN in the environment"


class Unreached(OSError):
    """The Hub did not answer, or not with what was asked for.

    `wait_s` is how long it wants to be left alone; None where trying again is of no use.
    """

    def __init__(self, words: str, wait_s: float | None = 0.0) -> None:
        super().__init__(words)
        self.words, self.wait_s = words, wait_s

    def __reduce__(self) -> tuple[type[Unreached], tuple[str, float | None]]:
        return type(self), (self.words, self.wait_s)


class Unconnected(Unreached):
    """There was nobody to ask."""


def is_name(address: str) -> bool:
    """Whether a repository may be called so: `user/name`, of letters of ASCII, digits, `-`, `_` and `.`."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # public by its documentation

    try:
        validate_repo_id(address)
    except HFValidationError:
        return False
    return address.count("/") == 1 and address.isascii()


def has_token() -> bool:
    """Whether the user is logged in here."""
    from huggingface_hub import get_token

    return bool(get_token())


@dataclass(frozen=True)
class Repository:
    """The dataset repository `user/name`."""

    address: str

    @cached_property
    def _api(self) -> HfApi:
        from huggingface_hub import HfApi
        from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]  # public by its documentation

        disable_progress_bars()
        # Of what is tried again, this project tells; and addresses are signed.
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
        return HfApi(library_name="quickdraw", library_version=quickdraw.__version__)

    @property
    def url(self) -> str:
        """Where people see it."""
        return f"{self._api.endpoint}/datasets/{self.address}"

    def held(self) -> Held | None:
        """What it holds; None where it is not there, or not to be seen. Raises Refused, Unreached."""
        from huggingface_hub import RepoFile
        from huggingface_hub.errors import RepositoryNotFoundError

        with self._told():
            try:
                info = self._api.repo_info(self.address, repo_type=KIND)
            except RepositoryNotFoundError:
                return None
            head = info.sha or ""
            tree = self._api.list_repo_tree(self.address, recursive=True, revision=head, repo_type=KIND)
            files = {
                found.path: There(found.size, found.blob_id, found.lfs.sha256 if found.lfs else None)
                for found in tree
                if isinstance(found, RepoFile)
            }
        written = inventory_in(self.read(INVENTORY, head)) if INVENTORY in files else set()
        listed = written | ({INVENTORY} if written else set())
        return Held(head, bool(getattr(info, "private", False)), files, frozenset(listed))

    def read(self, place: str, revision: str) -> bytes:
        """A file of it. Raises Refused, Unreached."""
        with self._told(), TemporaryDirectory() as folder:
            path = self._api.hf_hub_download(
                self.address, place, repo_type=KIND, revision=revision, local_dir=folder, cache_dir=folder
            )
            return Path(path).read_bytes()

    def create(self, private: bool) -> None:
        """Create it, where it is not there. Raises Refused where that is not allowed, Unreached."""
        with self._told():
            self._api.create_repo(self.address, repo_type=KIND, private=private or None, exist_ok=True)

    def commit(self, items: Sequence[Item], delete: Sequence[str], words: str, sent: Callable[[int], None]) -> None:
        """Send files and delete others in one commit; `sent` is told bytes as they arrive.

        Content the Hub has already is not sent. Raises Refused, Unreached.
        """
        from huggingface_hub import CommitOperationDelete

        with self._told():
            operations = [(item, _operation(item)) for item in items]
            for group in _groups(operations):
                additions = [operation for _, operation in group]
                self._api.preupload_lfs_files(self.address, additions, repo_type=KIND, free_memory=False)
                sent(sum(item.bytes for item, _ in group))
            self._api.create_commit(
                self.address,
                [*(CommitOperationDelete(place, is_folder=False) for place in delete), *(op for _, op in operations)],
                commit_message=words,
                repo_type=KIND,
            )

    def move_tag(self, tag: str) -> bool:
        """Let `tag` name the last commit; whether it did not. Raises Refused, Unreached."""
        with self._told():
            refs = self._api.list_repo_refs(self.address, repo_type=KIND)
            head = next((branch.target_commit for branch in refs.branches if branch.name == "main"), None)
            named = next((found.target_commit for found in refs.tags if found.name == tag), None)
            if named == head:
                return False
            if named is not None:
                self._api.delete_tag(self.address, tag=tag, repo_type=KIND)
            self._api.create_tag(self.address, tag=tag, revision=head, repo_type=KIND)
            return True

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong between here and the Hub, in words."""
        import httpx
        from huggingface_hub import get_session

        try:
            get_session().timeout = PATIENCE_S  # by itself it waits for ever
            yield
        except (OSError, ValueError, RuntimeError, httpx.HTTPError) as error:
            told = self._in_words(error)
            if told is error:
                raise
            raise told from error

    def _in_words(self, error: Exception) -> Exception:
        """What an error means to who pushes; itself, where it is none of the Hub's."""
        import httpx
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

        words, endpoint = _unsigned(str(error)) or type(error).__name__, self._api.endpoint
        match error:
            case OfflineModeIsEnabled():
                return Unreached("the Hub is not asked: HF_HUB_OFFLINE is set", None)
            case HfHubHTTPError():
                return self._refusal(error)
            case httpx.ConnectError():
                return Unconnected(f"{endpoint} cannot be reached ({words})")
            case httpx.HTTPError() | json.JSONDecodeError() | LocalEntryNotFoundError():
                return Unreached(f"{endpoint} broke off ({words})")
            case RuntimeError(__cause__=HfHubHTTPError() as cause):  # of an upload
                return self._refusal(cause)
            case RuntimeError(__cause__=cause) if _is_of_the_client(error):  # of an upload; without a cause, hf_xet's
                return Unreached(f"an upload broke off ({_unsigned(str(cause or words))})")
            case ConnectionError() | TimeoutError():  # hf_xet's
                return Unreached(f"an upload broke off ({words})")
            case PermissionError(filename=None):  # hf_xet's; of a file here it would have a name
                return Refused([Fault(self.address, "rights", words, WRITING)])
            case ValueError():
                return self._of_the_card(error)
        return error

    def _of_the_card(self, error: ValueError) -> Exception:
        """The Hub judges a card before it takes one."""
        if "README.md" not in str(error):
            return error
        found = " ".join(_unsigned(str(error)).split())
        return Refused([Fault(self.address, "README.md", found, "front matter the Hub takes")])

    def _refusal(self, error: HfHubHTTPError) -> Exception:
        """What an answer that is none means to who pushes."""
        answer = error.response
        said = " ".join(_unsigned(error.server_message or "").split())
        told = f"the Hub answered {answer.status_code}{f': {said}' if said else ''}"
        if answer.status_code == 401:
            return Refused([Fault(self.address, "login", told, LOGIN)])
        if answer.status_code in (402, 403):
            return Refused([Fault(self.address, "rights", told, WRITING)])
        if answer.status_code == 404:
            return Refused([Fault(self.address, "repository", told, "one that is there, and seen with this token")])
        if answer.status_code in PASSING:
            return Unreached(told, _seconds(answer.headers.get("Retry-After", "")))
        return Unreached(told, None)


def _unsigned(words: str) -> str:
    """Words without the queries of addresses in them: who has a signed address may use it."""
    return QUERY.sub("", words)


def _is_of_the_client(error: BaseException) -> bool:
    """Whether huggingface_hub was at work, or what it calls: a bug of this project's is no failure of the Hub's."""
    modules = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    return any(name.partition(".")[0] in CLIENT for name in modules)


def _seconds(told: str) -> float:
    return float(told) if told.isdecimal() else 0.0


def _operation(item: Item) -> CommitOperationAdd:
    from huggingface_hub import CommitOperationAdd

    # What was checked is what is sent: a small file as it is read here, of a large one the Hub compares the digest.
    operation = CommitOperationAdd(item.place, content_of(item) if item.bytes <= SMALL else item.content)
    operation.upload_info.sha256 = bytes.fromhex(item.sha256)
    return operation


def _groups[T](operations: Sequence[tuple[Item, T]]) -> Iterator[list[tuple[Item, T]]]:
    group, size = list[tuple[Item, T]](), 0
    for item, operation in operations:
        if group and size + item.bytes > TOGETHER:
            yield group
            group, size = [], 0
        group.append((item, operation))
        size += item.bytes
    if group:
        yield group
