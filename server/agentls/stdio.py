"""Takes stdout away from everything that prints, so that it carries one format and nothing else."""

import contextlib
import os
import sys


def take_stdout() -> int:
    """Return a descriptor of the real stdout; from now on file descriptor 1 leads to stderr.

    A stray `print` in any library, and the output of any child, lands on stderr. Where stdout was
    closed when the process started, what is written to it is thrown away.
    """
    _open_stderr()
    # Python leaves None where a descriptor was closed when it started; by now its number may belong
    # to another file.
    real = _nowhere() if sys.__stdout__ is None else os.dup(1)
    os.set_inheritable(real, False)
    os.dup2(2, 1)
    if sys.__stdout__ is not None:
        sys.__stdout__.flush()
    sys.stdout = sys.stderr
    return real


def take_stdin() -> int:
    """Return a descriptor of the real stdin; from now on file descriptor 0 is empty."""
    real = _nowhere() if sys.__stdin__ is None else os.dup(0)
    os.set_inheritable(real, False)
    null = _nowhere()
    if null != 0:
        os.dup2(null, 0)
        os.close(null)
    return real


def tell(text: str) -> None:
    """Tell the user something on stderr, in one line; where nobody listens, do nothing."""
    line = " ".join(text.split("\n")).strip()
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"agentls: {line}\n")
        sys.stderr.flush()


def _nowhere() -> int:
    return os.open(os.devnull, os.O_RDWR)


def _open_stderr() -> None:
    if sys.__stderr__ is not None:
        return
    null = _nowhere()
    if null != 2:
        os.dup2(null, 2)
        os.close(null)
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115, PTH123  for good
