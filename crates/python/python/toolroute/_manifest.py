"""Routers on other machines: a driver embeds the tools once, and its workers load what it made."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

from . import _learning, _options
from ._batches import Columns, Job, job_of, router_of
from ._errors import ModelError, RequestError, ToolrouteError
from ._router import Router
from ._toolroute import NativeRouter, __version__

if TYPE_CHECKING:
    from ._batches import Tools
    from ._options import Path

#: Options of a router that are files of the driver.
_FILES = ("index", "usage", "feedback", "overlay", "strict")

#: The router that this process loaded last: workers of Spark rank many partitions.
_loaded: dict[str, NativeRouter] = {}


@dataclass(frozen=True)
class RouterManifest:
    """What a worker needs to know to have the driver's router; the bytes themselves come apart."""

    #: The options of the router, as JSON, without files.
    settings: str
    #: That of the driver's tools, model and learned usage: a router with another gives other answers.
    fingerprint: str
    #: The driver's version of this package: another may rank otherwise.
    version: str
    #: The SHA-256 of each part: `tools`, `vectors` and `usage`.
    digests: Mapping[str, str]

    def load(self, part: Callable[[str], bytes]) -> NativeRouter:
        """The driver's router, without embedding a tool.

        Args:
            part: Gives the bytes of a part. It is called once a machine: they are kept in files.

        Raises:
            ModelError: This machine has another model or another version of the package than the
                driver.
        """
        if self.version != __version__:
            raise ModelError(
                f"this worker has version {__version__} of toolroute, and the driver {self.version}; "
                "install the same on all machines"
            )
        known = _loaded.get(self._key())
        if known is not None:
            return known
        paths = {name: _keep(digest, lambda: part(name)) for name, digest in self.digests.items()}
        router = _open_shared(self.settings, paths)
        if router.fingerprint != self.fingerprint:
            raise ModelError(
                "this worker has another model than the driver; install the same on all machines"
            )
        _loaded.clear()
        _loaded[self._key()] = router
        return router

    def _key(self) -> str:
        return f"{self.fingerprint} {self.settings}"


def prepare(
    tools: Tools, limit: Any, columns: Columns, options: Mapping[str, Any]
) -> tuple[Job, RouterManifest, dict[str, bytes]]:
    """What workers are asked, their router, and the parts of it."""
    # Without a model nothing is embedded: that is done where the vectors are kept.
    router = router_of(tools, model="none")
    given = dict(router._options) if isinstance(tools, Router) else {}
    if router._source[0] == "servers" or "feedback" in given:
        raise RequestError(
            "a router of servers, or with `feedback`, belongs to its machine; expected a router over "
            "tools or files"
        )
    job = job_of(router, limit, columns, options)
    lines = [text.strip() for text in map(router._native.tool, router._native.ids()) if text]
    parts = {"tools": "\n".join(lines).encode()}
    learned = _learning.saved(router._native)
    if learned is not None:
        parts["usage"] = learned
    shipped = {name: value for name, value in given.items() if name not in _FILES}
    settings = _options.settings_json(shipped)
    fingerprint, vectors = _embed(settings, parts, given.get("index"))
    if vectors is not None:
        parts["vectors"] = vectors
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in parts.items()}
    return job, RouterManifest(settings, fingerprint, __version__, digests), parts


def _embed(
    settings: str, parts: Mapping[str, bytes], index: Optional[Path]
) -> tuple[str, Optional[bytes]]:
    """The fingerprint of a router of these parts, and the vectors of its tools, `None` without a model.
    Those that `index` holds are taken from there.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: os.path.join(folder, name) for name in (*parts, "vectors")}
        for name, data in parts.items():
            with open(paths[name], "wb") as file:
                file.write(data)
        if index is not None and os.path.isfile(index):
            shutil.copy(index, paths["vectors"])
        fingerprint = _open(settings, paths).fingerprint
        if not os.path.isfile(paths["vectors"]):
            return fingerprint, None
        with open(paths["vectors"], "rb") as file:
            return fingerprint, file.read()


def _open(settings: str, paths: Mapping[str, str]) -> NativeRouter:
    """A router over files of this machine, by part."""
    # The tools have only those patterns over prompts that the driver's router took.
    changed = {**json.loads(settings), "author_signals": True}
    for part, option in (("vectors", "index"), ("usage", "usage")):
        if part in paths:
            changed[option] = paths[part]
    if os.path.getsize(paths["tools"]) == 0:
        return NativeRouter.of_tools([], json.dumps(changed))
    return NativeRouter.of_paths([paths["tools"]], json.dumps(changed))


def _open_shared(settings: str, paths: Mapping[str, str]) -> NativeRouter:
    """A router over files that other processes of this machine open too."""
    if "vectors" not in paths:
        return _open(settings, paths)
    # A router with another model replaces the file of its vectors: here a name of its own, which shares
    # the bytes.
    with tempfile.TemporaryDirectory(dir=_folder()) as folder:
        own = os.path.join(folder, "vectors")
        try:
            os.link(paths["vectors"], own)
        except OSError:  # This file system has no links.
            shutil.copy(paths["vectors"], own)
        return _open(settings, {**paths, "vectors": own})


def _keep(digest: str, data: Callable[[], bytes]) -> str:
    """A file with this content, which the first process of a machine that asks for it writes."""
    path = os.path.join(_folder(), digest)
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path) and _digest(path) == digest:
            return path
        handle, partial = tempfile.mkstemp(dir=os.path.dirname(path))
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data())
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise
    return path


def _digest(path: str) -> str:
    """The SHA-256 of a file."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def _folder() -> str:
    """The user's own folder among the temporary files."""
    folder = os.path.join(tempfile.gettempdir(), f"toolroute-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder, follow_symlinks=False).st_uid != os.getuid():
        raise ToolrouteError(f"{folder} belongs to another user; set TMPDIR to a folder of yours")
    return folder
