"""Ends the commands of a server that was killed before it could do so itself.

A shell of about a megabyte waits on a pipe whose other end only the server holds. When the server
is gone, however it went, the pipe breaks, and the shell ends the process groups it was told of
and, where there is a /proc, what has left them and bears their mark in its environment.
(A parent-death signal would reach the direct child alone, and not what that has started.)
"""

import subprocess
from contextlib import suppress

SCRIPT = """\
watched=' '
while read -r verb item; do
  case $verb in
    watch) case $watched in
      *" $item "*) ;;
      *) watched="$watched$item " ;;
    esac ;;
    forget) case $watched in
      *" $item "*) watched="${watched%%" $item "*} ${watched#*" $item "}" ;;
    esac ;;
  esac
done
[ "$watched" = ' ' ] && exit
end() {
  for item in $watched; do
    kill -s "$1" -- "-${item%%:*}"
    mark=${item#*:}
    [ "$mark" ] || continue
    for file in $(grep -lszx "AGENTLS_COMMAND=$mark" /proc/[0-9]*/environ); do
      process=${file#/proc/}
      kill -s "$1" "${process%/environ}"
    done
  done
}
end TERM
sleep 1
end KILL
"""
ANNOUNCE = """\
trap '' PIPE
echo "watch $$:$AGENTLS_COMMAND" 2>/dev/null >&0
trap - PIPE
exec "$0" "$@" </dev/null
"""


class Guard:
    """Watches over process groups; the shell behind it starts with the first one."""

    def __init__(self) -> None:
        self._marks: dict[int, str] = {}
        self._shell: subprocess.Popen[bytes] | None = None

    def announcing(self, command: list[str]) -> tuple[list[str], int]:
        """Return how to start a command that has nothing to read, and its stdin.

        It announces its own group before it becomes what it is, so that there is no moment in
        which a killed server leaves it unwatched.
        """
        with suppress(OSError):
            if self._shell is None or self._shell.poll() is not None:
                self._start()
        if self._shell is None or self._shell.stdin is None:
            return command, subprocess.DEVNULL
        return ["/bin/sh", "-c", ANNOUNCE, *command], self._shell.stdin.fileno()

    def watch(self, group: int, mark: str = "") -> None:
        """End this group when the server is gone; one that has announced itself counts once.

        `mark` is the value of `AGENTLS_COMMAND` in the environment of all that the group starts.
        """
        self._marks[group] = mark
        self._tell(f"watch {group}:{mark}\n")

    def forget(self, group: int) -> None:
        """Leave this group alone: it has ended."""
        if group not in self._marks:
            return
        self._tell(f"forget {group}:{self._marks.pop(group)}\n")

    def close(self) -> None:
        """End the shell. Groups that are still watched are ended by it."""
        shell, self._shell = self._shell, None
        self._marks.clear()
        if shell is None:
            return
        if shell.stdin:
            shell.stdin.close()
        shell.wait()

    def _tell(self, line: str) -> None:
        # Without a guard commands still run; only a killed server then leaves them behind.
        with suppress(OSError):
            if self._shell is None or self._shell.poll() is not None:
                self._start()
            elif self._shell.stdin:
                self._shell.stdin.write(line.encode())

    def _start(self) -> None:
        """Start the shell, also where someone has ended it, and tell it of every group."""
        if self._shell and self._shell.stdin:
            self._shell.stdin.close()
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", SCRIPT, "agentls-guard"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            start_new_session=True,
        )
        if self._shell.stdin:
            watched = "".join(f"watch {group}:{mark}\n" for group, mark in self._marks.items())
            self._shell.stdin.write(watched.encode())
