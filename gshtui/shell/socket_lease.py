"""The one socket that all shells of this user report to, and the lease on it: exactly one hub at a time has it.

Owns the lease's lock, which the system releases however its holder dies; refuses a folder that others can write to.
Called by the shell log.
"""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

from gshtui.settings import paths
from gshtui.shell import hub_registry
from gshtui.shell.hub_registry import HubRegistryError
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import try_lock


class SocketLease:
    """The right to a socket's path. Not for two threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None
        self._identity = (0, 0)

    @property
    def held(self) -> bool:
        """Whether this process has the right."""
        return self._lock is not None

    def try_lock(self) -> bool:
        """Take the right without the socket, so that no hub has it meanwhile; false if a hub does. Blocks for a moment.
        Raises `HubRegistryError`: no hub can have it.
        """
        if self._lock is None:
            self._lock = self._locked()
        return self._lock is not None

    def try_acquire(self) -> socket.socket | None:
        """The listening socket, or `None` if another hub has the lease. Blocks for a moment. Raises `PlaceError`: no
        hub can have it: others can access the folder, or something else is in the socket's place.
        """
        if not self.try_lock():
            return None
        try:
            listening = hub_registry.claim(self.path)
            self._identity = hub_registry.identity(self.path)
        except (HubRegistryError, OSError) as error:
            self.release()
            if isinstance(error, HubRegistryError):
                raise
            raise HubRegistryError(f"Cannot create a socket at {self.path}: {error.strerror or error}.") from error
        return listening

    def is_held(self) -> bool:
        """Whether the socket at the path is still ours, since somebody may have cleared the folder."""
        try:
            return self._lock is not None and hub_registry.identity(self.path) == self._identity
        except OSError:
            return False

    def release(self) -> None:
        """Release the lease, and remove the socket if it is ours."""
        if self._lock is None:
            return
        hub_registry.give_back(self.path, self._identity)
        os.close(self._lock)
        self._lock = None

    def _locked(self) -> int | None:
        folder = self.path.parent
        try:
            _ours_alone(folder)
            return try_lock(self.path.with_name(f"{self.path.name}.lock"))
        except OSError as error:
            why = str(error) if isinstance(error, paths.FolderError) else f"{folder}: {error.strerror or error}."
            raise HubRegistryError(f"Shells cannot report: {why}", hint="Set [general] socket_path.") from error


def _ours_alone(folder: Path) -> None:
    """Create the folder, or reuse it if only this user can access it. Raises `OSError`."""
    if folder == paths.runtime_dir(create=False):
        paths.runtime_dir()
        return
    private_files.make_folder(folder)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise paths.FolderError(f"{folder} is a link or a file, not a folder.")
    if found.st_uid != os.getuid():
        raise paths.FolderError(f"{folder} belongs to user {found.st_uid}, not to you.")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise paths.FolderError(f"other users can enter {folder}; run `chmod 700` on it, or use a separate folder.")
