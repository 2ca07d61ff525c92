"""A process that has leases: does what it is told on stdin, and answers each line with a line.

python -m tests.support.lease_holder FOLDER [HOST]

acquire ID...   whether each is its own now, as 1 or 0: "1 0 0"
still ID        "True" or "False"
beat ID         "beaten", or the class of the error
release ID      "released"
"""

import sys
from pathlib import Path

from agentls.errors import LeaseLost, SessionInUse
from agentls.sessions.lease import FolderLeases, Lease
from agentls.sessions.owner import Owner


def main(folder: Path, *host: str) -> None:
    leases, held = FolderLeases(folder), dict[str, Lease]()
    owner = Owner.here("headless")
    if host:  # it says that it is elsewhere
        owner = owner.model_copy(update={"host": host[0]})
    _answer("ready")
    for line in sys.stdin:
        verb, *ids = line.split()
        match verb:
            case "acquire":
                _answer(" ".join(str(int(_acquire(leases, each, owner, held))) for each in ids))
            case "still":
                _answer(str(held[ids[0]].still_mine()))
            case "beat":
                _answer(_beat(held[ids[0]]))
            case "release":
                held[ids[0]].release()
                _answer("released")
            case _:
                _answer(f"unknown: {verb}")


def _acquire(leases: FolderLeases, each: str, owner: Owner, held: dict[str, Lease]) -> bool:
    try:
        held[each] = leases.acquire(each, owner)
    except SessionInUse:
        return False
    return True


def _beat(lease: Lease) -> str:
    try:
        lease.beat()
    except LeaseLost as error:
        return type(error).__name__
    return "beaten"


def _answer(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
