"""The user's key, which tells what this user has built from what came with somebody's files.

What rlfabric compiles is run when it is found again. A build folder may come with a repository or
an archive, whose files belong to the user who unpacked them. So each compiled file carries an HMAC
(RFC 2104, SHA-256) with a key that lies outside of every project.

Some drives have no permissions (drvfs, vboxsf, cifs): all of their files have one owner and one
mode, whatever is asked for. There the key is as private as the home is, which a warning says once.
"""

import os
import secrets
import stat
import tempfile
import warnings
from pathlib import Path

from hw.errors import UsageError

__all__ = ["KEY", "key_place", "user_key"]

#: Environment variable with another path of the key's file.
KEY = "RLFABRIC_KEY"
_BYTES = 32


def key_place():
    """The Path of the key's file: that in ``RLFABRIC_KEY``, else ``rlfabric/key`` in
    ``$XDG_DATA_HOME``, which is ``~/.local/share`` if it is not set. UsageError without a home."""
    if named := os.environ.get(KEY):
        return Path(os.path.expanduser(named)).absolute()  # ~ of a service's settings, too
    data = Path(os.environ.get("XDG_DATA_HOME", ""))
    if not data.is_absolute():  # the specification has relative ones ignored
        home = Path(os.path.expanduser("~"))
        if not home.is_absolute() or home == Path("/") or not home.is_dir():
            raise UsageError(
                f"HOME must be a folder, for the key of this user, not {str(home)!r}; {KEY} names "
                "another place"
            )
        data = home / ".local" / "share"
    return data / "rlfabric" / "key"


def user_key():
    """The key, 32 bytes that no other user can read; the first process makes it. UsageError if it
    cannot be made, or if others have access to its file, on a drive that could refuse it to them.
    """
    try:
        path = key_place()
        return _read(path) or _made(path)
    except OSError as error:
        raise UsageError(
            f"{path} must be a file that can be made and read, for the key of this user, not "
            f"refused ({error.strerror}); {KEY} names another"
        ) from error


def _read(path):
    """The key in the file ``path``; None without a file."""
    try:
        # Not blocked by a pipe of this name.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        own = _is_private(found) or _is_all_the_drive_has(path.parent, found)
        if not (own and stat.S_ISREG(found.st_mode) and found.st_size == _BYTES):
            raise UsageError(
                f"{path} must be a file of {_BYTES} bytes that this user alone can read, not one "
                f"of {found.st_size} bytes of user {found.st_uid} with mode "
                f"{stat.filemode(found.st_mode)}: remove it, or name another by {KEY}"
            )
        return file.read(_BYTES)


def _is_private(found):
    """Whether a file with the status ``found`` is this user's, and nobody else has access."""
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _is_all_the_drive_has(folder, found):
    """Whether a new file in ``folder`` for this user only has owner and mode of ``found``, too."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".key.") as new:  # of mode 0600
        made = os.fstat(new.fileno())
        return not _is_private(made) and (made.st_uid, made.st_mode) == (
            found.st_uid,
            found.st_mode,
        )


def _made(path):
    """Makes the key, unless another process is faster, and returns the existing one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".key.")  # of mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(handle)
            private = _is_private(os.fstat(handle))
        if not private:
            warnings.warn(
                f"{path} is as private as the drive is, which has no permissions: whoever can read "
                f"it can make compiled code that is run here; {KEY} names another place",
                RuntimeWarning,
                stacklevel=3,
            )
        try:
            os.link(name, path)
        except FileExistsError:
            pass
        except OSError:  # a drive without hard links
            os.rename(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
    return _read(path)
