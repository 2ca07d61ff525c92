"""An editor to be killed: starts the server over a folder, sends a prompt, allows what is asked.

    python -m tests.support.dying_editor FOLDER SCENARIO

Once the first call runs it writes the server's process id to stdout, and then does nothing more.
"""

import asyncio
import sys
from pathlib import Path

from tests.support.servers import editor


async def main(folder: Path, scenario: Path) -> None:
    async with editor(folder, "--model", f"scripted:{scenario}") as it:
        await it.new_session()
        await it.prompt("Do it.")
        await it.answer("allow")
        await it.event("toolCallStarted", seconds=60)
        sys.stdout.write(f"{it.client.pid}\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
