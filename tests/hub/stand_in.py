"""The Hub's HTTP API as far as huggingface_hub uses it for dataset repositories, in this process: no network.

Written from the client's requests and the Hub's published documentation. Everything is kept in memory; `seen` lists
what was asked for, `arrived` every upload that came whole, and `trouble` is what a test has go wrong.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN, READ_ONLY = "hf_stand_in_for_a_secret", "hf_stand_in_that_only_reads"
LARGE = ("*.parquet", "*.mp4", "*.npz", "*.npy", "*.bin", "*.zip", "*.arrow")
ATTRIBUTES = "".join(f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in LARGE).encode()
LARGER_THAN, PART, PAGE = 10 << 20, 1 << 20, 25


@dataclass(frozen=True)
class Blob:
    content: bytes
    large: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def pointer(self) -> bytes:
        told = f"oid sha256:{self.sha256}\nsize {len(self.content)}\n"
        return f"version https://git-lfs.github.com/spec/v1\n{told}".encode()

    @property
    def oid(self) -> str:
        kept = self.pointer if self.large else self.content
        return hashlib.sha1(b"blob %d\0" % len(kept) + kept).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.large else self.oid


@dataclass
class Repo:
    private: bool
    commits: dict[str, dict[str, Blob]] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def head(self) -> str:
        return list(self.commits)[-1]

    @property
    def files(self) -> dict[str, Blob]:
        return self.commits[self.head]

    def commit(self, files: dict[str, Blob], message: str) -> str:
        listing = "".join(f"{path} {blob.oid}\n" for path, blob in sorted(files.items()))
        oid = hashlib.sha1(f"{len(self.commits)} {message}\n{listing}".encode()).hexdigest()
        self.commits[oid] = files
        self.messages.append(message)
        return oid

    def at(self, revision: str) -> str | None:
        named = {"main": self.head, **self.tags}.get(revision, revision)
        return named if named in self.commits else None


class Answer(Exception):
    def __init__(self, status: int, body: Any = None, **headers: str) -> None:
        self.status, self.body = status, body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def error(status: int, message: str, code: str = "") -> Answer:
    named = {"X_Error_Code": code} if code else {}
    return Answer(status, {"error": message}, X_Error_Message=message, **named)


NO_REPO = "Repository not found"
Route = Callable[..., Answer]
ROUTES: list[tuple[str, re.Pattern[str], str]] = [
    ("GET", re.compile(r"/api/whoami-v2"), "whoami"),
    ("POST", re.compile(r"/api/repos/create"), "create"),
    ("POST", re.compile(r"/api/validate-yaml"), "validate"),
    ("GET", re.compile(r"/api/datasets/([^/]+/[^/]+)(?:/revision/([^/]+))?"), "info"),
    ("GET", re.compile(r"/api/datasets/([^/]+/[^/]+)/tree/([^/]+)(?:/(.+))?"), "tree"),
    ("POST", re.compile(r"/api/datasets/([^/]+/[^/]+)/paths-info/([^/]+)"), "paths"),
    ("GET", re.compile(r"/api/datasets/([^/]+/[^/]+)/refs"), "refs"),
    ("POST", re.compile(r"/api/datasets/([^/]+/[^/]+)/tag/([^/]+)"), "tag"),
    ("DELETE", re.compile(r"/api/datasets/([^/]+/[^/]+)/tag/([^/]+)"), "untag"),
    ("POST", re.compile(r"/api/datasets/([^/]+/[^/]+)/preupload/([^/]+)"), "preupload"),
    ("POST", re.compile(r"/api/datasets/([^/]+/[^/]+)/commit/([^/]+)"), "commit"),
    ("POST", re.compile(r"/datasets/([^/]+/[^/]+)\.git/info/lfs/objects/batch"), "batch"),
    ("PUT", re.compile(r"/storage/([0-9a-f]{64})(?:/(\d+))?"), "put"),
    ("POST", re.compile(r"/storage/([0-9a-f]{64})/complete"), "complete"),
    ("POST", re.compile(r"/datasets/([^/]+/[^/]+)\.git/info/lfs/objects/verify"), "verify"),
    ("GET", re.compile(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)"), "resolve"),
    ("HEAD", re.compile(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)"), "resolve"),
    ("GET", re.compile(r"/cdn/([0-9a-f]{64})"), "cdn"),
    ("HEAD", re.compile(r"/cdn/([0-9a-f]{64})"), "cdn"),
]


@dataclass
class Trouble:
    """The next `times` requests that match get `status` for an answer, a reset where it is 0, none where it is -1."""

    method: str
    path: str
    status: int
    times: int
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False  # the request is done all the same, and only its answer is lost


class Hub:
    """`with Hub() as hub`: it listens at `hub.endpoint`."""

    def __init__(self, judge: Callable[[str], list[str]]) -> None:
        self.judge = judge
        self.repos: dict[str, Repo] = {}
        self.storage: dict[str, bytes] = {}
        self.parts: dict[tuple[str, int], bytes] = {}
        self.seen: list[tuple[str, str]] = []
        self.arrived: Counter[str] = Counter()  # by sha256 of a large file, or repository and path of a small one
        self.trouble: list[Trouble] = []
        self.pause_s = 0.0
        self.lock = threading.RLock()

    def __enter__(self) -> Hub:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None: ...

            def do_GET(self) -> None:
                hub.serve(self)

            do_POST = do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815  (names of http.server)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who was killed hangs up
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        self.elsewhere = f"http://localhost:{self.server.server_port}"  # content comes from another host
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def serve(self, request: BaseHTTPRequestHandler) -> None:
        body = (
            request.rfile.read(int(request.headers.get("Content-Length") or 0))
            if not chunked(request)
            else read_chunks(request)
        )
        parts = urlsplit(request.path)
        time.sleep(self.pause_s)
        trouble = self._trouble(request.command, parts.path)
        if trouble is None or trouble.after:
            answer = self._answer(request, parts.path, parse_qs(parts.query), body)
        if trouble is not None:
            time.sleep(5 if trouble.status < 0 else 0)
            if trouble.status <= 0:
                request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                request.close_connection = True
                request.connection.close()
                return
            answer = Answer(trouble.status, b"<html>trouble</html>")
            answer.headers |= trouble.headers
        send(request, answer)

    def _trouble(self, method: str, path: str) -> Trouble | None:
        with self.lock:
            self.seen.append((method, path))
            for trouble in self.trouble:
                if trouble.times and trouble.method == method and fnmatch(path, trouble.path):
                    trouble.times -= 1
                    return trouble
        return None

    def _answer(self, request: BaseHTTPRequestHandler, path: str, query: dict[str, list[str]], body: bytes) -> Answer:
        login = (request.headers.get("Authorization") or "").removeprefix("Bearer ")
        try:
            if login not in ("", TOKEN, READ_ONLY) and not path.startswith("/storage"):
                raise error(401, "Invalid credentials in Authorization header")
            for method, pattern, name in ROUTES:
                if method == request.command and (found := pattern.fullmatch(path)):
                    groups = [group if group is None else unquote(group) for group in found.groups()]
                    with self.lock:
                        called: Answer = getattr(self, f"_{name}")(Asked(login, query, body, request), *groups)
                    return called
            raise error(404, f"no such page: {request.command} {path}")
        except Answer as answer:
            return answer

    def _repo(self, asked: Asked, name: str) -> Repo:
        repo = self.repos.get(name)
        if repo is None or (repo.private and not asked.login):
            raise error(404 if asked.login else 401, NO_REPO, "RepoNotFound")
        return repo

    def _written(self, asked: Asked, name: str) -> Repo:
        repo = self._repo(asked, name)
        if asked.login != TOKEN or not name.startswith("me/"):
            raise error(403, "You don't have the rights to write to this repository")
        return repo

    def _at(self, repo: Repo, revision: str) -> str:
        if (found := repo.at(revision)) is None:
            raise error(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return found

    def _whoami(self, asked: Asked) -> Answer:
        if not asked.login:
            raise error(401, "Invalid username or password.")
        return Answer(200, {"type": "user", "name": "me", "orgs": []})

    def _create(self, asked: Asked) -> Answer:
        told = asked.json
        if told.get("type") != "dataset":
            raise error(400, "only datasets here")
        name = f"{told.get('organization') or 'me'}/{told['name']}"
        if asked.login != TOKEN or not name.startswith("me/"):
            raise error(403 if asked.login else 401, f"You don't have the rights to create {name}")
        if name in self.repos:
            raise error(409, "You already created this dataset repo")
        private = told.get("visibility") == "private" or told.get("private") is True
        self.repos[name] = Repo(private)
        self.repos[name].commit({".gitattributes": Blob(ATTRIBUTES, large=False)}, "initial commit")
        return Answer(200, {"url": f"{self.endpoint}/datasets/{name}", "name": name, "id": name})

    def _validate(self, asked: Asked) -> Answer:
        found = self.judge(asked.json["content"])
        return Answer(400 if found else 200, {"errors": [{"message": each} for each in found], "warnings": []})

    def _info(self, asked: Asked, name: str, revision: str | None) -> Answer:
        repo = self._repo(asked, name)
        head = self._at(repo, revision or "main")
        siblings = [{"rfilename": path} for path in sorted(repo.commits[head])]
        told = {"_id": "0", "id": name, "sha": head, "private": repo.private, "tags": [], "siblings": siblings}
        return Answer(200, {**told, "author": name.partition("/")[0], "downloads": 0, "likes": 0})

    def _entries(self, files: dict[str, Blob]) -> list[dict[str, Any]]:
        folders = {path.rsplit("/", depth)[0] for path in files for depth in range(1, path.count("/") + 1)}
        entries: list[dict[str, Any]] = [
            {"type": "directory", "path": path, "oid": "0" * 40, "size": 0} for path in folders
        ]
        for path, blob in files.items():
            size = len(blob.content)
            large = {"lfs": {"oid": blob.sha256, "size": size, "pointerSize": len(blob.pointer)}} if blob.large else {}
            entries.append({"type": "file", "path": path, "oid": blob.oid, "size": size, **large})
        return sorted(entries, key=lambda entry: str(entry["path"]))

    def _tree(self, asked: Asked, name: str, revision: str, below: str | None) -> Answer:
        repo = self._repo(asked, name)
        files = repo.commits[self._at(repo, revision)]
        inside = {path: blob for path, blob in files.items() if below is None or path.startswith(f"{below}/")}
        entries, first = self._entries(inside), int(asked.query.get("cursor", ["0"])[0])
        if asked.query.get("recursive", ["false"])[0].lower() != "true":
            depth = 0 if below is None else below.count("/") + 1
            entries = [entry for entry in entries if entry["path"].count("/") == depth]
        answer = Answer(200, entries[first : first + PAGE])
        if first + PAGE < len(entries):
            here = asked.request.path.split("?")[0]
            answer.headers["Link"] = f'<{self.endpoint}{here}?recursive=True&cursor={first + PAGE}>; rel="next"'
        return answer

    def _paths(self, asked: Asked, name: str, revision: str) -> Answer:
        repo = self._repo(asked, name)
        wanted = parse_qs(asked.body.decode()).get("paths", [])
        return Answer(200, [e for e in self._entries(repo.commits[self._at(repo, revision)]) if e["path"] in wanted])

    def _refs(self, asked: Asked, name: str) -> Answer:
        repo = self._repo(asked, name)
        tags = [{"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": oid} for tag, oid in repo.tags.items()]
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": repo.head}
        return Answer(200, {"branches": [main], "converts": [], "tags": tags})

    def _tag(self, asked: Asked, name: str, revision: str) -> Answer:
        repo, tag = self._written(asked, name), asked.json["tag"]
        if tag in repo.tags:
            raise error(409, f"Tag {tag} exists already")
        repo.tags[tag] = self._at(repo, revision)
        return Answer(200, {})

    def _untag(self, asked: Asked, name: str, tag: str) -> Answer:
        repo = self._written(asked, name)
        if repo.tags.pop(tag, None) is None:
            raise error(404, f"no tag {tag}", "RevisionNotFound")
        return Answer(200, {})

    def _preupload(self, asked: Asked, name: str, revision: str) -> Answer:
        repo = self._written(asked, name)
        files = repo.commits[self._at(repo, revision)]
        told = asked.json["files"]
        assert 0 < len(told) <= 256
        ignored = files[".gitignore"].content.decode().split() if ".gitignore" in files else []
        return Answer(200, {"files": [self._mode(entry, files, ignored) for entry in told]})

    def _mode(self, entry: dict[str, Any], files: dict[str, Blob], ignored: list[str]) -> dict[str, Any]:
        path, held = entry["path"], files.get(entry["path"])
        large = entry["size"] > LARGER_THAN or any(fnmatch(path.rsplit("/", 1)[-1], pattern) for pattern in LARGE)
        skipped = any(fnmatch(path, pattern) for pattern in ignored)
        oid = {"oid": held.etag} if held else {}
        return {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": skipped, **oid}

    def _batch(self, asked: Asked, name: str) -> Answer:
        self._written(asked, name)
        told = asked.json
        assert told["operation"] == "upload"
        assert told["hash_algo"] == "sha256"
        objects = []
        for entry in told["objects"]:
            where, known = f"{self.endpoint}/storage/{entry['oid']}", entry["oid"] in self.storage
            header, several = {}, entry["size"] > PART
            if several:
                count = -(-entry["size"] // PART)
                header = {f"{number}": f"{where}/{number}" for number in range(1, count + 1)} | {
                    "chunk_size": f"{PART}"
                }
            upload = {"href": f"{where}/complete" if several else where, "header": header}
            verify = {"href": f"{self.endpoint}/datasets/{name}.git/info/lfs/objects/verify"}
            objects.append(entry if known else {**entry, "actions": {"upload": upload, "verify": verify}})
        return Answer(
            200, {"transfer": "multipart" if "multipart" in told["transfers"] else "basic", "objects": objects}
        )

    def _put(self, asked: Asked, oid: str, part: str | None) -> Answer:
        if part is None:
            self._keep(oid, asked.body)
        else:
            self.parts[oid, int(part)] = asked.body
        return Answer(200, "", ETag=f'"{hashlib.md5(asked.body).hexdigest()}"')

    def _complete(self, asked: Asked, oid: str) -> Answer:
        told = asked.json
        numbers = [entry["partNumber"] for entry in told["parts"]]
        assert told["oid"] == oid
        self._keep(oid, b"".join(self.parts.pop((oid, number)) for number in numbers))
        return Answer(200, {})

    def _keep(self, oid: str, content: bytes) -> None:
        if hashlib.sha256(content).hexdigest() != oid:
            raise error(400, "the content is not what was announced")
        self.storage[oid] = content
        self.arrived[oid] += 1

    def _verify(self, asked: Asked, name: str) -> Answer:
        self._written(asked, name)
        if len(self.storage.get(asked.json["oid"], b"")) != asked.json["size"]:
            raise error(404, "no such object")
        return Answer(200, {})

    def _commit(self, asked: Asked, name: str, revision: str) -> Answer:
        repo = self._written(asked, name)
        assert revision == "main"
        header, *operations = [json.loads(line) for line in asked.body.splitlines()]
        assert header["key"] == "header"
        files = dict(repo.files)
        for operation in operations:
            self._change(files, operation["key"], operation["value"], name)
        oid = repo.commit(files, header["value"]["summary"])
        url = f"{self.endpoint}/datasets/{name}/commit/{oid}"
        return Answer(200, {"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""})

    def _change(self, files: dict[str, Blob], key: str, told: dict[str, Any], name: str) -> None:
        path = told["path"]
        if key == "file":
            files[path] = Blob(base64.b64decode(told["content"]), large=False)
            self.arrived[f"{name}/{path}"] += 1
        elif key == "lfsFile":
            if told["oid"] not in self.storage:
                raise error(400, f"{path}: LFS pointer points to a file that does not exist")
            files[path] = Blob(self.storage[told["oid"]], large=True)
        elif key == "deletedFile":
            if path not in files:
                raise error(404, "A file with this name doesn't exist", "EntryNotFound")
            del files[path]
        else:
            raise error(400, f"no such operation: {key}")

    def _resolve(self, asked: Asked, name: str, revision: str, path: str) -> Answer:
        repo = self._repo(asked, name)
        commit = self._at(repo, revision)
        blob = repo.commits[commit].get(path)
        if blob is None:
            raise error(404, "Entry not found", "EntryNotFound")
        if not blob.large:
            return Answer(200, blob.content, X_Repo_Commit=commit, ETag=f'"{blob.etag}"')
        told = {"X_Linked_Etag": f'"{blob.etag}"', "X_Linked_Size": f"{len(blob.content)}"}
        return Answer(302, "", X_Repo_Commit=commit, Location=f"{self.elsewhere}/cdn/{blob.sha256}", **told)

    def _cdn(self, asked: Asked, oid: str) -> Answer:
        content = self.storage[oid]
        if ranged := re.fullmatch(r"bytes=(\d+)-(\d*)", asked.request.headers.get("Range") or ""):
            first, last = int(ranged[1]), int(ranged[2] or len(content) - 1)
            told = f"bytes {first}-{last}/{len(content)}"
            return Answer(206, content[first : last + 1], ETag=f'"{oid}"', Content_Range=told)
        return Answer(200, content, ETag=f'"{oid}"')


@dataclass(frozen=True)
class Asked:
    login: str
    query: dict[str, list[str]]
    body: bytes
    request: BaseHTTPRequestHandler

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def chunked(request: BaseHTTPRequestHandler) -> bool:
    return (request.headers.get("Transfer-Encoding") or "").lower() == "chunked"


def read_chunks(request: BaseHTTPRequestHandler) -> bytes:
    pieces = []
    while size := int(request.rfile.readline().split(b";")[0], 16):
        pieces.append(request.rfile.read(size))
        request.rfile.readline()
    request.rfile.readline()
    return b"".join(pieces)


def send(request: BaseHTTPRequestHandler, answer: Answer) -> None:
    body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
    request.send_response(answer.status)
    for name, value in answer.headers.items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(body)))
    request.send_header(
        "Content-Type", "application/octet-stream" if isinstance(answer.body, bytes) else "application/json"
    )
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(body)
