"""Loads the settings: managed, command line, local, project, user; the first to say a thing wins.

Rules join. A file that is damaged keeps what was last read from it; where nothing is known of it,
every call asks until it is mended. A folder is not trusted: its files may forbid, never permit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from agentls.config.files import DamagedFile, JsonFile, read_json
from agentls.config.folders import agentls_folder, managed_settings_path, user_settings_path
from agentls.config.scalars import Keys, Misfit, object_in, put_in, scalars_in, unknown_in
from agentls.config.settings import Settings
from agentls.protocol.session_state import Rule
from agentls.protocol.tool_calls import Mode
from agentls.protocol.wire_model import JsonObject

Behaviour = Literal["allow", "ask", "deny"]
CheckRule = Callable[[Behaviour, str], str | None]
"""Says what is wrong with a rule, or None. What a rule may be is for permissions to know."""


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line sets."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    model: str | None = None
    mode: Mode | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the settings that does not hold, for the user to see."""

    source: str
    """The file's path, or the option of the command line."""
    line: int | None
    message: str
    severity: Literal["error", "notice"] = "error"
    """`notice`: all is well formed, but does not count here."""

    def __str__(self) -> str:
        place = f"{self.source}, line {self.line}" if self.line else self.source
        return f"{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings in force, and where each of them comes from."""

    settings: Settings
    rules: tuple[Rule, ...]
    """With their files; rules of trusted and untrusted files alike, as far as each may rule."""
    problems: tuple[Problem, ...]
    origins: Mapping[str, str]
    last_good: Mapping[Path, JsonFile]
    """What each file held when it could last be read; for the next loading."""

    def origin(self, key: str) -> str | None:
        """Return the file that sets `key` (`permissions.defaultMode`), or None for a default."""
        return self.origins.get(key)


def load_settings(
    workspace: Path | None,
    flags: Flags,
    environment: Mapping[str, str],
    *,
    check_rule: CheckRule | None = None,
    previous: LoadedSettings | None = None,
    managed: Path | None = None,
) -> LoadedSettings:
    """Read every layer. Never raises: what is wrong is among the problems.

    Without `check_rule`, rules are taken as they are; those that cannot be read still never allow.
    With `previous`, a file that is damaged now keeps the values it had then. `managed` is for a
    machine that keeps that file elsewhere.
    """
    loading = _Loading(check_rule or _any_rule, previous.last_good if previous else {})
    loading.add_file(managed or managed_settings_path(), trusted=True)
    for option, values in _of_flags(flags):
        loading.add_values(option, values, None, trusted=True)
    if workspace is not None:
        folder = agentls_folder(workspace)
        loading.add_file(folder / "settings.local.json", trusted=False)
        loading.add_file(folder / "settings.json", trusted=False)
    loading.add_file(user_settings_path(environment), trusted=True)
    return loading.result()


def _any_rule(behaviour: Behaviour, rule: str) -> str | None:
    return None


def _of_flags(flags: Flags) -> Iterator[tuple[str, JsonObject]]:
    """Yield what the flags say in the shape of settings, by the option that says it."""
    yield "--model", {"model": flags.model}
    yield "--permission-mode", {"permissions": {"defaultMode": flags.mode}}
    yield "--allowed-tools", {"permissions": {"allow": [*flags.allow]}}
    yield "--disallowed-tools", {"permissions": {"deny": [*flags.deny]}}


_MODE: Keys = ("permissions", "defaultMode")
_NOT_OF_A_FOLDER: tuple[Keys, ...] = (("sessions", "store"), ("fastModel",), ("models",))
"""What only the user and the machine decide: a cloned folder must neither lose anybody's history,
nor choose what is paid for, nor say what it costs."""
_RULE_LISTS: tuple[Behaviour, ...] = ("deny", "ask", "allow")
_STRICT_MODES = frozenset({"plan", "dontAsk"})
"""Modes that let through less than the default one does."""


@dataclass(frozen=True, slots=True)
class _Scalar:
    value: Any
    source: str
    line: int | None
    trusted: bool


@dataclass(slots=True)
class _Loading:
    """What the layers read so far add up to. Layers are added highest first."""

    check_rule: CheckRule
    remembered: Mapping[Path, JsonFile]
    rules: list[Rule] = field(default_factory=list[Rule])
    problems: list[Problem] = field(default_factory=list[Problem])
    scalars: dict[Keys, list[_Scalar]] = field(default_factory=dict[Keys, list[_Scalar]])
    last_good: dict[Path, JsonFile] = field(default_factory=dict[Path, JsonFile])

    def add_file(self, path: Path, *, trusted: bool) -> None:
        """Add what a file says, or said when it was whole."""
        try:
            file = read_json(path)
            if file is not None:
                _check_shape(path, file)
        except DamagedFile as error:
            file = self.remembered.get(path)
            kept = "its last good values stay in force" if file else "until then every call asks"
            message = f"{error.message}; correct the file or move it away, {kept}"
            self.problems.append(Problem(str(path), error.line, message))
            if file is None:
                self.rules.append(Rule(behaviour="ask", rule="*", source=f"{path} (damaged)"))
        if file is not None:
            self.last_good[path] = file
            self.add_values(str(path), file.values, file, trusted=trusted)

    def add_values(
        self, source: str, values: JsonObject, file: JsonFile | None, *, trusted: bool
    ) -> None:
        """Add what one layer says. `file` tells the lines."""
        if not trusted:
            values = self._without_what_a_folder_may_not(source, values, file)
        for said in scalars_in(values):
            if isinstance(said, Misfit):
                self._report(source, file, said)
                continue
            line = file.line_of(*said.path) if file else None
            found = self.scalars.setdefault(said.path, [])
            found.append(_Scalar(said.value, source, line, trusted))
        for behaviour in _RULE_LISTS:
            for rule in _list(object_in(values, ("permissions",)).get(behaviour)):
                self._add_rule(behaviour, rule, source, file, trusted)
        for misfit in unknown_in(values):
            self._report(source, file, misfit)

    def result(self) -> LoadedSettings:
        """Return the settings that hold."""
        chosen = {path: found[0] for path, found in self.scalars.items() if path != _MODE}
        if (mode := self._mode()) is not None:
            chosen[_MODE] = mode
        rules = {
            behaviour: tuple(rule.rule for rule in self.rules if rule.behaviour == behaviour)
            for behaviour in _RULE_LISTS
        }
        nested: dict[str, Any] = {"permissions": rules}
        for path, scalar in chosen.items():
            put_in(nested, path, scalar.value)
        return LoadedSettings(
            settings=Settings.model_validate(nested),
            rules=tuple(self.rules),
            problems=tuple(self.problems),
            origins={".".join(path): scalar.source for path, scalar in chosen.items()},
            last_good=self.last_good,
        )

    def _without_what_a_folder_may_not(
        self, source: str, values: JsonObject, file: JsonFile | None
    ) -> JsonObject:
        """Return `values` without what only the user decides, and report what that was."""
        for path in _NOT_OF_A_FOLDER:
            around = object_in(values, path[:-1])
            if around.get(path[-1]) is None:
                continue
            what = "is passed over: it counts in the user's settings alone"
            self._report(source, file, Misfit(path, what))
            kept = {name: value for name, value in around.items() if name != path[-1]}
            values = {**values, path[0]: kept} if len(path) > 1 else kept
        return values

    def _report(self, source: str, file: JsonFile | None, misfit: Misfit) -> None:
        line = file.line_of(*misfit.path) if file else None
        self.problems.append(Problem(source, line, f"{'.'.join(misfit.path)} {misfit.what}"))

    def _add_rule(
        self, behaviour: Behaviour, rule: Any, source: str, file: JsonFile | None, trusted: bool
    ) -> None:
        text = str(rule)
        line = file.line_of("permissions", behaviour, text) if file else None
        wrong = self.check_rule(behaviour, text) if isinstance(rule, str) else "it is not a string"
        if wrong is not None:
            so = "is passed over" if behaviour == "allow" else "asks for every call of its tool"
            self.problems.append(Problem(source, line, f"the rule {text} {so}: {wrong}"))
            if behaviour == "allow":
                return
        elif behaviour == "allow" and not trusted:
            message = f"the allow rule {text} does not count, as this folder is not trusted"
            self.problems.append(Problem(source, line, message, "notice"))
            return
        self.rules.append(Rule(behaviour=behaviour, rule=text, source=source))

    def _mode(self) -> _Scalar | None:
        """Return the first mode that counts: one of an untrusted folder only if it is stricter."""
        found = self.scalars.get(_MODE, [])
        for index, scalar in enumerate(found):
            lower = next((later.value for later in found[index + 1 :] if later.trusted), "default")
            if scalar.trusted:
                return scalar
            if scalar.value in _STRICT_MODES and lower not in _STRICT_MODES:
                return scalar
            if scalar.value != lower:
                message = f"the mode {scalar.value} does not count, as this folder is not trusted"
                self.problems.append(Problem(scalar.source, scalar.line, message, "notice"))
        return None


def _check_shape(path: Path, file: JsonFile) -> None:
    """Raise DamagedFile where what forbids something might be hidden by its shape."""
    for message, keys in _misshapen(file.values):
        raise DamagedFile(path, file.line_of(*keys), message)


def _misshapen(values: JsonObject) -> Iterator[tuple[str, Sequence[str]]]:
    permissions = values.get("permissions", {})
    if not isinstance(permissions, dict):
        yield "permissions must be an object", ["permissions"]
        return
    for behaviour in ("deny", "ask"):
        rules = permissions.get(behaviour, [])
        if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
            keys = ["permissions", behaviour]
            yield f"permissions.{behaviour} must be a list of strings", keys


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list | tuple) else []
