"""A model that does, by chance, all that models and the way to them do."""

import asyncio
import random
from collections.abc import AsyncGenerator
from typing import Any

import orjson

from agentls import errors
from agentls.llm.model import ModelRequest, StreamEvent
from agentls.llm.stream_events import WrittenAnswer, closing_events, opening_events
from tests.support.api_rules import violations

Block = dict[str, Any]

SUMMARY = "Write the summary that takes its place"
MAY_PASS = (
    errors.RateLimited,
    errors.Overloaded,
    errors.ServerFailed,
    errors.ConnectionLost,
    errors.Unreachable,
    errors.StreamBroken,
    errors.StreamStalled,
)
STAYS = (errors.KeyRefused, errors.RequestRefused, errors.PromptTooLong)
QUESTION = {
    "question": "Which of them?",
    "header": "Which",
    "options": [{"label": "This"}, {"label": "That"}],
}
TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Read", {"file_path": "a.txt"}),
    ("Read", {"file_path": "notes.txt"}),
    ("Read", {"file_path": "not_there.txt"}),
    ("Write", {"file_path": "made.txt", "content": "made\n"}),
    ("Edit", {"file_path": "a.txt", "old_string": "alpha", "new_string": "omega"}),
    ("Edit", {"file_path": "a.txt", "old_string": "omega", "new_string": "alpha"}),
    ("Bash", {"command": "echo hello"}),
    ("Bash", {"command": "rm -f made.txt"}),
    ("Bash", {"command": "sleep 30", "timeout": 50}),
    ("Bash", {"command": "sleep 30", "run_in_background": True}),
    ("Bash", {"command": "echo soon", "run_in_background": True}),
    ("AskUserQuestion", {"questions": [QUESTION]}),
    ("EnterPlanMode", {}),
    ("ExitPlanMode", {"plan": "First this, then that."}),
    ("Task", {"description": "a part", "prompt": "Do a part of it."}),
    ("Task", {"description": "a part", "prompt": "Do @a.txt of it.", "run_in_background": True}),
    ("TodoWrite", {"todos": [{"content": "x", "activeForm": "x", "status": "pending"}]}),
    ("TaskOutput", {"task_id": "bunknown1"}),
    ("Unknown", {"what": 1}),
    ("Read", {"wrong": True}),
)


class FickleModel:
    """Answers by chance, until it is made steady."""

    def __init__(self, chance: random.Random) -> None:
        self.steady = False
        """Whether it answers each prompt with a text and never fails."""
        self.refused: list[str] = []
        """What the API would not have taken of the requests."""
        self.given: dict[str, dict[str, int]] = {}
        """By response, the tokens that were told for it."""
        self.tasks: list[str] = []
        """Ids of tasks to ask about."""
        self._chance = chance
        self._answers = 0
        self._calls = 0
        self._let_go = asyncio.Event()

    def let_go(self) -> None:
        """Have what hangs go on, and nothing hang any more until `hang_again`."""
        self._let_go.set()

    def hang_again(self) -> None:
        """Let answers hang again."""
        self._let_go.clear()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield an answer, a part of one, or nothing at all."""
        messages = orjson.loads(orjson.dumps(list(request.messages)))
        self.refused += violations(messages)
        self._fail(0.12)
        answer = self._answer(request, messages)
        events = [*opening_events(answer, chunk=400), *closing_events(answer)]
        breaks_at = self._chance.randrange(len(events)) if self._happens(0.12) else None
        for number, event in enumerate(events):
            if number == breaks_at:
                raise self._chance.choice(MAY_PASS)("it broke off by chance")
            if self._happens(0.1):
                await asyncio.sleep(0)
            if self._happens(0.01):
                await self._let_go.wait()
            self._count(answer.message_id, event)
            yield event

    def _happens(self, probability: float) -> bool:
        return not self.steady and self._chance.random() < probability

    def _fail(self, probability: float) -> None:
        if not self._happens(probability):
            return
        if self._happens(0.1):
            raise ValueError("a fault by chance")
        if self._happens(0.2):
            raise self._chance.choice(STAYS)("refused by chance")
        after = self._chance.choice([None, None, 2.0, 47.5, 5400.0])
        raise self._chance.choice(MAY_PASS)("failed by chance", retry_after=after)

    def _answer(self, request: ModelRequest, messages: list[dict[str, Any]]) -> WrittenAnswer:
        last = messages[-1]["content"]
        asked = [block["text"] for block in last if block["type"] == "text"]
        is_summary = bool(asked) and SUMMARY in asked[-1]
        blocks = self._summary() if is_summary else self._blocks()
        reason = "tool_use" if blocks and blocks[-1]["type"] == "tool_use" else "end_turn"
        if self._happens(0.1):
            reason = self._chance.choice(
                ["max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"]
            )
        self._answers += 1
        said = sum(len(str(message)) for message in messages) // 4 + 1
        usage = {"input_tokens": said, "output_tokens": len(str(blocks)) // 4 + 1}
        return WrittenAnswer(f"msg_{self._answers}", request.model, blocks, reason, usage)

    def _summary(self) -> tuple[Block, ...]:
        if self._happens(0.2):
            return self._blocks()
        return ({"type": "text", "text": "## Done\nVarious things."},)

    def _blocks(self) -> tuple[Block, ...]:
        if self._happens(0.05):
            return ()
        blocks: list[Block] = []
        if self._happens(0.2):
            blocks.append({"type": "thinking", "thinking": "Hm.", "signature": "sig"})
        if not self._happens(0.2):
            length = 1 if self.steady else self._chance.choice([1, 1, 1, 40, 1_500])
            words = "All is well. " * length
            blocks.append({"type": "text", "text": f"Answer {self._answers}. {words}"})
        if self._happens(0.6):
            blocks += [self._call() for _ in range(self._chance.choice([1, 1, 2, 3]))]
        return tuple(blocks)

    def _call(self) -> Block:
        name, arguments = self._chance.choice(TOOLS)
        if self.tasks and self._happens(0.1):
            name = self._chance.choice(["TaskOutput", "TaskStop"])
            arguments = {"task_id": self._chance.choice(self.tasks)}
            if name == "TaskOutput":
                arguments["block"] = False
        if not self._happens(0.05):
            self._calls += 1  # else an id comes twice
        block = {"type": "tool_use", "id": f"toolu_{self._calls}", "name": name, "input": arguments}
        if self._happens(0.05):
            block["partial_json"] = '{"file_path": '
        return block

    def _count(self, message_id: str, event: StreamEvent) -> None:
        usage = event.get("usage") or event.get("message", {}).get("usage") or {}
        self.given.setdefault(message_id, {}).update(usage)
