"""What a tool is: its contract with the scheduler, and the ports it works through.

A tool never raises but for cancellation: what went wrong is a result that the model reads.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from agentls.protocol.content import FileChange, TextBlock, Todo
from agentls.protocol.docstrings import describe_fields
from agentls.protocol.session_state import SessionState
from agentls.protocol.tool_calls import ApprovalOption, Mode, Question, QuestionAnswer
from agentls.tools.files import Files
from agentls.tools.memory import Memory
from agentls.tools.variables import Variables

if TYPE_CHECKING:
    from agentls.tools.agents import Agents
    from agentls.tools.background import Background


class ToolInput(BaseModel):
    """What a tool takes. Field names and descriptions are what the model sees."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        json_schema_extra=describe_fields,
        defer_build=True,
    )


I = TypeVar("I", bound=ToolInput)  # noqa: E741  it stands for Input


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What became of a call.

    `summary` is one line for a person, past tense: "Read 120 lines of src/main.py".
    """

    content: tuple[TextBlock, ...]
    summary: str
    is_error: bool = False
    may_pass: bool = False
    """What went wrong may be over in a moment: a call that only reads is tried once more."""
    changes: tuple[FileChange, ...] = ()
    left_out: str | None = None
    """What was not looked at for changes, where something was not."""
    variables: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Variables to set, `key` or `Tool:key`; None removes one. Dates, decimals, bytes survive."""
    data: Any = None
    """What the tool's output variables are taken from, as JSON."""
    todos: tuple[Todo, ...] | None = None
    """The plan, where the call wrote it anew."""
    mode: Mode | None = None
    """`plan`, where the call has the session enter plan mode; no other is heeded."""

    @classmethod
    def ok(cls, text: str, summary: str, **rest: Any) -> "ToolResult":
        """Return a result that worked."""
        return cls(content=(TextBlock(text=text),), summary=summary, **rest)

    @classmethod
    def error(cls, text: str, summary: str | None = None, **rest: Any) -> "ToolResult":
        """Return a result that did not, with what the model can do about it in `text`."""
        first_line = text.partition("\n")[0]
        return cls(
            content=(TextBlock(text=text),), summary=summary or first_line, is_error=True, **rest
        )


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know and do while it runs."""

    session_id: str
    call_id: str
    state: SessionState
    """As it was when the call began; read-only."""
    cwd: Path
    """Absolute; relative paths in arguments start here."""
    roots: tuple[Path, ...]
    """The workspace's folders, absolute."""
    files: Files
    progress: Callable[[str], None] = lambda text: None
    """Shows the latest lines of output; replaces what was shown before."""
    unreadable: Callable[[Path], bool] = lambda path: False
    """Says which files' content the model must not see, whatever folder was searched."""
    memory: Memory | None = None
    """What is kept of conversations; None where nothing is."""
    background: "Background | None" = None
    """What runs beside the conversation; None where nothing can."""
    agents: "Agents | None" = None
    """Others that can be set to work; None where there are none."""
    output_folder: Path | None = None
    """Where output goes that is too long for a result; None where nothing is kept."""
    output_bytes: int = 64 << 20
    """How much of one command's output is kept there."""
    answers: tuple[QuestionAnswer, ...] | None = None
    """What the user answered to the call's questions, one for each; None: nothing."""

    @property
    def variables(self) -> Mapping[str, Any]:
        """The session's variables, `Tool:key`."""
        return Variables(self.state.variables)


class Tool(ABC, Generic[I]):
    """A tool the model can call."""

    name: ClassVar[str]
    """As the model calls it."""
    description: ClassVar[str]
    """For the model: what it does, when to use it, what it returns."""
    input_type: type[I]
    verbs: ClassVar[tuple[str, str]] = ("Run", "Running")
    """What it does, for a person: as a wish, and while it does it."""
    read_only: ClassVar[bool] = False
    """It changes nothing, and may run beside other calls that change nothing."""
    filters_reads: ClassVar[bool] = False
    """It leaves out what `ToolContext.unreadable` names, so a folder may be read around it."""
    outputs: ClassVar[Mapping[str, str]] = {}
    """Variables that are set from a result's `data`: a JSONPath (RFC 9535) for each key."""
    variable_owner: ClassVar[str | None] = None
    """The tool whose variables it sets, where they are not its own."""
    after_denial: ClassVar[str] = "Do not try it in another way."
    """What the model is to do where a call is denied."""
    timeout: ClassVar[float | None] = 120.0
    """Seconds after which the scheduler stops it; None where it keeps its own."""

    @abstractmethod
    async def execute(self, arguments: I, context: ToolContext) -> ToolResult:
        """Do it. Cancellation stops everything the call began; nothing else is raised."""

    def subject(self, arguments: I) -> str:
        """Say what a call is about, in a few words: "src/main.py"."""
        return self.name

    def wish(self, arguments: I) -> str:
        """Say what a call is to do, in one line: "Read src/main.py"."""
        return f"{self.verbs[0]} {self.subject(arguments)}"

    def invocation(self, arguments: I) -> str:
        """Say what a call is doing, in one line: "Reading src/main.py"."""
        return f"{self.verbs[1]} {self.subject(arguments)}"

    def read_paths(self, arguments: I) -> tuple[str, ...]:
        """Return the paths a call reads, as given; permission rules are matched on them."""
        return ()

    def written_paths(self, arguments: I) -> tuple[str, ...]:
        """Return the paths a call writes, as given; permission rules are matched on them."""
        return ()

    def command(self, arguments: I) -> str | None:
        """Return the shell command a call runs, where it runs one."""
        return None

    def questions(self, arguments: I) -> tuple[Question, ...]:
        """Return what the user must answer before a call is executed; empty: nothing."""
        return ()

    def approval_options(self, arguments: I) -> tuple[ApprovalOption, ...]:
        """Return the ways to answer an approval, one with the id "deny"; empty: allow or deny."""
        return ()

    async def preview(self, arguments: I, context: ToolContext) -> str:
        """Return what a person should see before allowing a call: a diff, a command."""
        return self.wish(arguments)

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments, as plain as it can be.

        Without the titles, references and nulls that pydantic adds: small models follow a plain
        schema better, and some servers that compile it take nothing else.
        """
        schema = self.input_type.model_json_schema()
        plain = _plain(schema, schema.get("$defs", {}))
        plain.pop("description", None)
        return plain


def _plain(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` simplified; a property may still be called `title`."""
    reference = str(schema.get("$ref", ""))
    if reference:
        described = {key: value for key, value in schema.items() if key == "description"}
        return _plain(definitions[reference.rpartition("/")[2]], definitions) | described
    kept = {key: value for key, value in schema.items() if key not in ("title", "$defs")}
    if kept.get("default", ...) is None:
        del kept["default"]
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = _plain(kept[key], definitions)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in kept:
            options = [_plain(option, definitions) for option in kept.pop(key)]
            kept |= _without_null(key, options)
    if "properties" in kept:
        properties = kept["properties"].items()
        kept["properties"] = {name: _plain(value, definitions) for name, value in properties}
    return kept


def _without_null(key: str, options: list[dict[str, Any]]) -> dict[str, Any]:
    """Return options without null; a single one that is left stands for itself."""
    left = [option for option in options if option.get("type") != "null"]
    return left[0] if len(left) == 1 else {key: left}
