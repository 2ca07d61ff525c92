import json
from pathlib import Path
from typing import Any

import pytest

from agentls.config.layers import Flags, LoadedSettings, load_settings
from agentls.config.settings import Settings
from agentls.permissions.rules import check_rule


class Machine:
    """Files of settings on a machine of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "work"
        self.managed = folder / "managed.json"
        self.local = self.workspace / ".agentls" / "settings.local.json"
        self.project = self.workspace / ".agentls" / "settings.json"
        self.user = folder / "config" / "settings.json"
        self._environment = {"AGENTLS_CONFIG_DIR": str(folder / "config")}
        self.project.parent.mkdir(parents=True)
        self.user.parent.mkdir()

    def write(self, **files: dict[str, Any] | str) -> None:
        for name, values in files.items():
            text = values if isinstance(values, str) else json.dumps(values, indent=1)
            getattr(self, name).write_text(text)

    def load(
        self, flags: Flags | None = None, previous: LoadedSettings | None = None
    ) -> LoadedSettings:
        return load_settings(
            self.workspace,
            flags or Flags(),
            self._environment,
            check_rule=check_rule,
            previous=previous,
            managed=self.managed,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def listed(loaded: LoadedSettings) -> list[tuple[str, str, str]]:
    return [(rule.behaviour, rule.rule, Path(rule.source).name) for rule in loaded.rules]


def test_without_files_the_defaults_hold(machine: Machine) -> None:
    loaded = machine.load()

    assert loaded.settings == Settings()
    assert loaded.rules == ()
    assert loaded.problems == ()
    assert loaded.origin("model") is None


def test_the_highest_layer_decides_and_is_named(machine: Machine) -> None:
    names = ["user", "project", "local"]
    for name in names:
        machine.write(**{name: {"model": name}})
        loaded = machine.load()
        assert loaded.settings.model == name
        assert loaded.origin("model") == str(getattr(machine, name))

    loaded = machine.load(Flags(model="flag"))
    assert (loaded.settings.model, loaded.origin("model")) == ("flag", "--model")

    machine.write(managed={"model": "managed"})
    loaded = machine.load(Flags(model="flag"))
    assert (loaded.settings.model, loaded.origin("model")) == ("managed", str(machine.managed))


def test_settings_of_different_layers_come_together(machine: Machine) -> None:
    machine.write(
        user={"view": {"verbose": True, "brief": True}, "parallelReads": 3},
        local={"view": {"brief": False}, "unknown": {"x": 1}},
    )

    loaded = machine.load()

    assert loaded.settings.view.verbose
    assert not loaded.settings.view.brief
    assert loaded.settings.parallel_reads == 3
    assert loaded.origin("view.verbose") == str(machine.user)
    assert loaded.origin("view.brief") == str(machine.local)
    assert loaded.problems == ()


def test_lists_of_rules_join_and_know_their_files(machine: Machine) -> None:
    machine.write(
        managed={"permissions": {"deny": ["Bash(curl:*)"]}},
        user={"permissions": {"allow": ["Bash(ls:*)"], "ask": ["WebFetch"]}},
        project={"permissions": {"deny": ["Read(.env)"]}},
    )

    loaded = machine.load(Flags(allow=("Edit",), deny=("Bash(rm:*)",)))

    assert listed(loaded) == [
        ("deny", "Bash(curl:*)", "managed.json"),
        ("allow", "Edit", "--allowed-tools"),
        ("deny", "Bash(rm:*)", "--disallowed-tools"),
        ("deny", "Read(.env)", "settings.json"),
        ("ask", "WebFetch", "settings.json"),
        ("allow", "Bash(ls:*)", "settings.json"),
    ]
    assert loaded.settings.permissions.deny == ("Bash(curl:*)", "Bash(rm:*)", "Read(.env)")


@pytest.mark.parametrize("layer", ["project", "local"])
def test_a_folder_may_forbid_and_never_permit(machine: Machine, layer: str) -> None:
    path = getattr(machine, layer)
    machine.write(
        **{
            layer: {
                "permissions": {
                    "allow": ["Bash"],
                    "ask": ["Bash(git:*)"],
                    "deny": ["Bash(rm:*)"],
                    "defaultMode": "bypassPermissions",
                }
            }
        }
    )

    loaded = machine.load()

    assert listed(loaded) == [
        ("deny", "Bash(rm:*)", path.name),
        ("ask", "Bash(git:*)", path.name),
    ]
    assert loaded.settings.permissions.default_mode == "default"
    assert loaded.settings.permissions.allow == ()
    assert [(p.source, p.line, p.severity) for p in loaded.problems] == [
        (str(path), 4, "notice"),
        (str(path), 12, "notice"),
    ]
    assert "allow rule Bash does not count" in loaded.problems[0].message
    assert "bypassPermissions does not count" in loaded.problems[1].message


@pytest.mark.parametrize(
    ("user", "project", "expected"),
    [
        (None, "plan", "plan"),
        (None, "dontAsk", "dontAsk"),
        (None, "acceptEdits", "default"),
        ("acceptEdits", "plan", "plan"),
        ("acceptEdits", "default", "acceptEdits"),
        ("plan", "default", "plan"),
        ("plan", "dontAsk", "plan"),
        ("bypassPermissions", "acceptEdits", "bypassPermissions"),
    ],
)
def test_a_folder_may_choose_a_stricter_mode_only(
    machine: Machine, user: str | None, project: str, expected: str
) -> None:
    machine.write(project={"permissions": {"defaultMode": project}})
    if user:
        machine.write(user={"permissions": {"defaultMode": user}})

    assert machine.load().settings.permissions.default_mode == expected


def test_the_command_line_outranks_a_folders_mode(machine: Machine) -> None:
    machine.write(project={"permissions": {"defaultMode": "plan"}})

    loaded = machine.load(Flags(mode="acceptEdits"))

    assert loaded.settings.permissions.default_mode == "acceptEdits"
    assert loaded.origin("permissions.defaultMode") == "--permission-mode"


def test_a_bad_value_is_passed_over_and_the_rest_counts(machine: Machine) -> None:
    machine.write(
        user={
            "parallelReads": True,
            "view": {"expandedView": "all", "brief": True},
            "permissions": {"defaultMode": "yolo", "denny": []},
            "model": "m",
        }
    )

    loaded = machine.load()

    assert loaded.settings.model == "m"
    assert loaded.settings.view.brief
    assert loaded.settings.parallel_reads == 8
    assert loaded.settings.permissions.default_mode == "default"
    messages = [str(problem) for problem in loaded.problems]
    assert len(messages) == 4
    for message, line, key in zip(
        messages,
        [2, 8, 4, 9],
        ["parallelReads", "defaultMode", "expandedView", "denny"],
        strict=True,
    ):
        assert message.startswith(f"{machine.user}, line {line}: ")
        assert key in message


def test_a_bad_allow_rule_is_passed_over_and_a_bad_deny_rule_still_counts(
    machine: Machine,
) -> None:
    machine.write(user={"permissions": {"allow": ["Bash(ls", "LS", 7], "deny": ["Bash(rm"]}})

    loaded = machine.load()

    assert listed(loaded) == [
        ("deny", "Bash(rm", "settings.json"),
        ("allow", "LS", "settings.json"),
    ]
    assert [problem.line for problem in loaded.problems] == [9, 4, None]
    assert "asks for every call of its tool" in loaded.problems[0].message
    assert "is passed over" in loaded.problems[1].message


@pytest.mark.parametrize("layer", ["managed", "local", "project", "user"])
def test_a_damaged_file_keeps_its_last_good_rules(machine: Machine, layer: str) -> None:
    machine.write(**{layer: {"permissions": {"deny": ["Bash(rm:*)"]}, "model": "m"}})
    good = machine.load()
    machine.write(**{layer: '{"permissions": {\n"deny": ['})

    damaged = machine.load(previous=good)
    still_damaged = machine.load(previous=damaged)

    for loaded in (damaged, still_damaged):
        assert loaded.rules == good.rules
        assert loaded.settings == good.settings
        (problem,) = loaded.problems
        assert problem.source == str(getattr(machine, layer))
        assert problem.line == 2
        assert "last good values stay in force" in problem.message


def test_a_file_cut_at_any_byte_loses_no_rule_whether_it_was_known_or_not(
    machine: Machine,
) -> None:
    values = {"permissions": {"deny": ["Bash(rm:*)"], "allow": ["Bash"]}}
    machine.write(user=values)
    good = machine.load()
    data = machine.user.read_bytes()

    for length in range(len(data)):
        machine.user.write_bytes(data[:length])
        known = machine.load(previous=good)
        unknown = machine.load()
        assert known.rules == good.rules
        assert listed(unknown) == [("ask", "*", "settings.json (damaged)")]
        assert "every call asks" in unknown.problems[0].message


@pytest.mark.parametrize(
    "permissions", [[], "x", {"deny": "Bash(rm:*)"}, {"ask": {"Bash": 1}}, {"deny": [["Bash"]]}]
)
def test_rules_hidden_by_their_shape_are_not_taken_for_none(
    machine: Machine, permissions: Any
) -> None:
    machine.write(user={"permissions": permissions})

    loaded = machine.load()

    assert listed(loaded) == [("ask", "*", "settings.json (damaged)")]
    assert loaded.problems[0].line == (2 if not isinstance(permissions, dict) else 3)


def test_a_mended_file_counts_again(machine: Machine) -> None:
    machine.write(user="{")
    damaged = machine.load()
    machine.write(user={"permissions": {"deny": ["Bash"]}})

    loaded = machine.load(previous=damaged)

    assert listed(loaded) == [("deny", "Bash", "settings.json")]
    assert loaded.problems == ()


def test_without_a_workspace_the_other_layers_hold(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.write(user={"model": "m"}, project={"model": "never"})

    loaded = load_settings(
        None,
        Flags(),
        {"AGENTLS_CONFIG_DIR": str(machine.user.parent)},
        managed=machine.managed,
    )

    assert loaded.settings.model == "m"


def test_where_sessions_are_kept_is_the_users_to_say_and_not_a_folders(machine: Machine) -> None:
    machine.write(user={"sessions": {"store": "sqlite"}}, project={"sessions": {"store": "memory"}})

    loaded = machine.load()

    assert loaded.settings.sessions.store == "sqlite"
    (problem,) = loaded.problems
    assert "sessions.store is passed over" in problem.message
    assert problem.source == str(machine.project)


def test_what_is_known_of_a_model_comes_together_key_by_key(machine: Machine) -> None:
    machine.write(
        managed={"models": {"qwen3": {"price": {"input": 0.125}}}},
        user={
            "models": {
                "qwen3": {"contextWindow": 32_000, "price": {"input": 9, "output": 1}},
                "qwen2.5:7b": {"thinking": False, "maxOutput": 4_096},
            }
        },
    )

    loaded = machine.load()

    qwen3 = loaded.settings.models["qwen3"]
    assert (qwen3.context_window, qwen3.price.input, qwen3.price.output) == (32_000, 0.125, 1)
    assert loaded.settings.models["qwen2.5:7b"].max_output == 4_096
    assert loaded.settings.models["qwen2.5:7b"].thinking is False
    assert loaded.origin("models.qwen3.contextWindow") == str(machine.user)
    assert loaded.origin("models.qwen3.price.input") == str(machine.managed)
    assert loaded.origin("models.qwen3.price.output") == str(machine.user)
    assert loaded.problems == ()


def test_retries_compaction_and_thinking_are_a_folders_to_say_too(machine: Machine) -> None:
    machine.write(
        project={
            "thinking": "off",
            "retry": {"rateLimitSeconds": 5, "networkSeconds": 0},
            "compaction": {"auto": False, "atTokens": 50_000},
            "tasks": {"outputMegabytes": 8},
        },
        user={"retry": {"rateLimitSeconds": 900, "firstWordSeconds": 30}, "thinking": "adaptive"},
    )

    settings = machine.load().settings

    assert settings.thinking == "off"
    assert settings.retry.rate_limit_seconds == 5
    assert settings.retry.network_seconds == 0
    assert settings.retry.first_word_seconds == 30
    assert settings.retry.overload_seconds == 120
    assert (settings.compaction.auto, settings.compaction.at_tokens) == (False, 50_000)
    assert settings.tasks.output_megabytes == 8


@pytest.mark.parametrize("layer", ["project", "local"])
def test_what_is_paid_for_is_not_a_folders_to_say(machine: Machine, layer: str) -> None:
    machine.write(
        user={"models": {"m": {"maxOutput": 7}}, "fastModel": "cheap"},
        **{
            layer: {
                "thinking": "off",
                "fastModel": "dear",
                "models": {"m": {"contextWindow": 5_000}},
            }
        },
    )

    loaded = machine.load()

    assert loaded.settings.fast_model == "cheap"
    assert loaded.settings.models["m"].context_window is None
    assert loaded.settings.models["m"].max_output == 7
    assert loaded.settings.thinking == "off"
    path = getattr(machine, layer)
    assert [str(problem) for problem in loaded.problems] == [
        f"{path}, line 3: fastModel is passed over: it counts in the user's settings alone",
        f"{path}, line 4: models is passed over: it counts in the user's settings alone",
    ]


def test_a_bad_value_of_a_model_is_told_with_its_line(machine: Machine) -> None:
    machine.write(
        user={
            "retry": {"stallSeconds": 0, "networkSeconds": 9},
            "models": {"m": {"contextWindow": 0, "price": {"input": 1, "outptu": 2}}},
        }
    )

    loaded = machine.load()

    assert loaded.settings.retry.stall_seconds == 120
    assert loaded.settings.retry.network_seconds == 9
    assert loaded.settings.models["m"].price.input == 1
    assert [(problem.line, problem.message.split(" ")[0]) for problem in loaded.problems] == [
        (3, "retry.stallSeconds"),
        (8, "models.m.contextWindow"),
        (11, "models.m.price.outptu"),
    ]
