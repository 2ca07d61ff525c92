"""Takes stdout away from everything that prints, so that it carries one format and nothing else."""

import contextlib
import os
import sys


def take_stdout() -> int:
    """Return a descriptor of the real stdout; from now on file descriptor 1 leads to stderr.

    A stray `print` in any library, and the output of any child, lands on stderr. Where stdout was
    closed when the process started, what is written to it is thrown away.
    """
    _fill_gaps()
    real = os.dup(1)
    os.set_inheritable(real, False)
    os.dup2(2, 1)
    if sys.__stdout__ is not None:
        sys.__stdout__.flush()
    sys.stdout = sys.stderr
    return real


def take_stdin() -> int:
    """Return a descriptor of the real stdin; from now on file descriptor 0 is empty."""
    _fill_gaps()
    real = os.dup(0)
    os.set_inheritable(real, False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return real


def tell(text: str) -> None:
    """Tell the user something on stderr, in one line; where nobody listens, do nothing."""
    line = " ".join(text.split("\n")).strip()
    # AttributeError: Python leaves None where stderr was closed when it started.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"agentls: {line}\n")
        sys.stderr.flush()


def _fill_gaps() -> None:
    """Open what is closed of 0, 1 and 2, lest a file that is opened later gets its number."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, so this one
            os.set_inheritable(fd, True)
