import subprocess
import sys

import pytest

from agentls.sessions.owner import Owner, is_running

HERE = Owner.here("lsp")


def test_machine_that_is_not_told_does_not_differ():
    assert HERE.shares_machine_with(HERE.model_copy(update={"machine": None}))
    assert not HERE.shares_machine_with(HERE.model_copy(update={"machine": "another"}))
    assert not HERE.shares_machine_with(HERE.model_copy(update={"host": "another"}))


def test_process_is_told_from_one_that_had_its_number():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert is_running(process.pid, None)
        assert not is_running(process.pid, "17")
    assert not is_running(process.pid, None)
    assert is_running(HERE.pid, HERE.started)
    assert not is_running((1 << 32) - 1, None)


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_container_is_another_machine():
    script = "from agentls.sessions.owner import Owner; print(Owner.here('cli').model_dump_json())"
    isolated = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    inside = subprocess.run([*isolated, sys.executable, "-c", script], capture_output=True)
    if inside.returncode:
        pytest.skip(f"no namespaces here: {inside.stderr.decode().strip()}")
    owner = Owner.model_validate_json(inside.stdout)
    assert owner.host == HERE.host
    assert owner.boot == HERE.boot
    assert not owner.shares_machine_with(HERE)
