"""Takes stdout away from everything that prints, so that it carries one format and nothing else."""

import os
import sys


def take_stdout() -> int:
    """Return a descriptor of the real stdout; from now on file descriptor 1 leads to stderr.

    A stray `print` in any library, and the output of any child, lands on stderr.
    """
    sys.stdout.flush()
    real = os.dup(1)
    os.set_inheritable(real, False)
    os.dup2(2, 1)
    return real


def take_stdin() -> int:
    """Return a descriptor of the real stdin; from now on file descriptor 0 is empty."""
    real = os.dup(0)
    os.set_inheritable(real, False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return real
