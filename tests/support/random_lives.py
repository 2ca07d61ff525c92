"""A whole agent that is driven by chance, and what must hold of it however it was driven."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.errors import AgentError
from agentls.protocol.content import text_of
from agentls.protocol.events import conversation
from agentls.protocol.history import Answer, UserMessage
from agentls.protocol.tool_calls import QuestionAnswer
from agentls.sessions.loading import events, load
from tests.support.agents import open_agent
from tests.support.commands import marked
from tests.support.fake_time import FakeTime
from tests.support.fickle_model import FickleModel
from tests.support.lives import settled

REST_SECONDS = 20
WINDOW = 24_000
SETTINGS = {
    "fastModel": "lighter",
    "models": {
        name: {"contextWindow": WINDOW, "maxOutput": 2_000} for name in ("offline", "lighter")
    },
    "permissions": {"allow": ["Bash(echo:*)", "Bash(sleep:*)"]},
}


class RandomLife:
    """One session and all that is done to it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.done: list[str] = []
        """What was done, to be read when it went wrong."""
        self._folder = folder
        self._chance = random.Random(seed)
        self._time = FakeTime()
        self._model = FickleModel(self._chance)
        self._sent: dict[str, str] = {}
        """By turn, the text of each prompt that was taken."""
        self._compactions: set[str] = set()
        self._removed: set[str] = set()
        self._beside: set[asyncio.Task[None]] = set()
        self._count = 0
        config = folder.parent / "config"
        config.mkdir()
        (config / "settings.json").write_bytes(orjson.dumps(SETTINGS))
        (folder / "notes.txt").write_text("".join(f"note {n}: nothing new\n" for n in range(150)))
        self._workspace: Workspace
        self._session: Session

    async def begin(self) -> None:
        """Open the agent and its session, and have a first prompt answered."""
        self._workspace = self._opened()
        self._session = await self._workspace.new_session("life")
        await self._answered("The first prompt.")

    async def step(self) -> None:
        """Do one thing by chance; what an agent refuses in words is no fault."""
        names = list(ACTIONS)
        name = self._chance.choices(names, [ACTIONS[name][0] for name in names])[0]
        self.done.append(name)
        act = ACTIONS[name][1]
        if name in UNREFUSED:
            await act(self)
        else:
            with suppress(AgentError):
                await act(self)
        self._check_requests()

    async def rest(self) -> None:
        """Let all that runs come to its end, and check what must hold then."""
        self._model.let_go()
        async with asyncio.timeout(REST_SECONDS):
            while True:
                while self._beside:
                    await asyncio.wait(self._beside)
                idle = asyncio.ensure_future(self._session.idle())
                while not idle.done():
                    self._answer_all()
                    await asyncio.wait([idle], timeout=0.005)
                if not self._beside:
                    break
        self._model.hang_again()
        self._check_rest()
        await self._session.flush()
        self._check_log()

    async def end(self) -> None:
        """Have a last prompt answered, close everything, and see that nothing is left."""
        await self.rest()
        await self._answered("The last prompt.")
        self._check_usage()
        await self._close()
        self._check_loads()
        assert not marked(self._folder)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    async def _answered(self, text: str) -> None:
        """Have a prompt answered by a model that does not fail."""
        self._model.steady = True
        taken = self._session.prompt(text)
        self._sent[taken.turn_id] = text
        await self.rest()
        self._model.steady = False
        last = self._session.state.last_turn
        assert last is not None
        assert (last.id, last.status) == (taken.turn_id, "completed"), last

    async def _close(self) -> None:
        await self._workspace.aclose()
        while self._beside:
            await asyncio.wait(self._beside)

    async def prompt(self) -> None:
        self._count += 1
        turn_id = f"t{self._count}" if self._chance.random() < 0.5 else None
        mention = self._chance.choice(["", "", " @a.txt", " @notes.txt:1-3", " @. @not/there"])
        text = f"prompt {self._count}{mention}"
        delivery = self._chance.choice(["queue", "steer"])
        taken = self._session.prompt(text, turn_id=turn_id, delivery=delivery)
        self._sent[taken.turn_id] = text

    async def repeat(self) -> None:
        if self._sent:
            turn_id = self._chance.choice(sorted(self._sent))
            self._session.prompt(self._sent[turn_id], turn_id=turn_id)

    async def cancel(self) -> None:
        turn = self._session.state.turn
        if turn is not None:
            self._session.cancel(turn.id)
            if self._chance.random() < 0.3:
                self._session.cancel(turn.id)

    async def cancel_queued(self) -> None:
        if self._session.state.queue:
            item = self._chance.choice(self._session.state.queue)
            assert self._session.cancel(item.id)
            self._removed.add(item.id)

    async def cancel_wrong(self) -> None:
        assert not self._session.cancel("turn_unknown")

    async def compact(self) -> None:
        for _ in range(self._chance.choice([1, 1, 2])):
            told = self._chance.choice([None, "Heed the tests."])
            self._compactions.add(self._session.compact(told).turn_id)

    async def clear(self) -> None:
        await self._maybe_beside(self._session.clear())

    async def redo(self) -> None:
        await self._maybe_beside(self._session.redo())

    async def rewind(self) -> None:
        said = [e for e in self._session.state.history if isinstance(e, UserMessage)]
        if said:
            scope = self._chance.choice(["both", "conversation", "files"])
            message = self._chance.choice(said)
            await self._maybe_beside(self._session.rewind(message.id, scope))

    async def answer(self) -> None:
        for _ in range(self._chance.choice([1, 1, 2])):
            self._answer_one(wrong=False)

    async def answer_wrong(self) -> None:
        self._answer_one(wrong=True)

    async def set_mode(self) -> None:
        modes = ["default", "default", "plan", "acceptEdits", "bypassPermissions"]
        self._session.set_mode(self._chance.choice(modes))

    async def set_model(self) -> None:
        model = self._chance.choice(["offline", "other", None])
        self._session.set_model(model, self._chance.choice(["session", "user"]))

    async def fast_mode(self) -> None:
        self._session.set_fast_mode(self._chance.random() < 0.5)

    async def stop_task(self) -> None:
        tasks = self._session.state.tasks
        if tasks:
            await self._maybe_beside(self._session.tasks.stop(self._chance.choice(tasks).id))

    async def wait(self) -> None:
        for _ in range(self._chance.choice([1, 1, 2, 5, 20])):
            await asyncio.sleep(0)
        self._note_tasks()

    async def wait_longer(self) -> None:
        await asyncio.sleep(self._chance.choice([0.001, 0.005, 0.03]))
        self._note_tasks()

    async def reopen(self) -> None:
        await self._workspace.close_session("life")
        self._check_loads()
        self._session = await self._workspace.load_session("life")

    async def reopen_all(self) -> None:
        await self._close()
        self._check_loads()
        assert not marked(self._folder)
        self._workspace = self._opened()
        self._session = await self._workspace.load_session("life")

    def _opened(self) -> Workspace:
        workspace = open_agent(self._folder, model="offline", pace=self._time.pace)
        workspace.surroundings.catalog.resolve = lambda name: self._model  # type: ignore[method-assign]
        return workspace

    async def _maybe_beside(self, work: Awaitable[Any]) -> None:
        """Do it now, or beside what is done next."""

        async def done() -> None:
            with suppress(AgentError):
                await work

        if self._chance.random() < 0.5:
            await done()
            return
        task = asyncio.create_task(done(), name=f"beside {self.done[-1]}")
        self._beside.add(task)
        task.add_done_callback(self._finished_beside)

    def _finished_beside(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        task.result()

    def _answer_all(self) -> None:
        while any(call.status == "waiting" for call in self._session.state.calls.values()):
            self._answer_one(wrong=False)

    def _answer_one(self, *, wrong: bool) -> None:
        calls = list(self._session.state.calls.values())
        waiting = [call for call in calls if call.status == "waiting"] or (calls if wrong else [])
        if not waiting:
            return
        call = self._chance.choice(waiting)
        if call.questions is None:
            options = call.approval.options if call.approval else ()
            ids = [option.id for option in options if option.mode != "bypassPermissions"]
            option = "none_of_them" if wrong or not ids else self._chance.choice(ids)
            self._session.answer_approval(call.id, option)
            return
        label = "Neither" if wrong else self._chance.choice(["This", "That"])
        given = QuestionAnswer(selected=(label,))
        null = self._chance.random() < 0.3 and not wrong
        self._session.answer_questions(call.id, None if null else (given,))

    def _note_tasks(self) -> None:
        self._model.tasks = [task.id for task in self._session.state.tasks]

    def _check_requests(self) -> None:
        assert self._model.refused == []

    def _check_rest(self) -> None:
        state = self._session.state
        assert state.turn is None
        assert state.queue == ()
        assert state.live is None
        assert state.compaction.running is None
        assert [call for call in state.calls.values() if call.status != "finished"] == []
        called = Counter(
            part.id
            for entry in state.history
            if isinstance(entry, Answer)
            for part in entry.parts
            if part.type == "toolCall"
        )
        answered = Counter(e.call.id for e in state.history if e.type == "callResult")
        assert called == answered
        assert not [entry for entry in state.history if entry.type == "gap"]

    def _check_log(self) -> None:
        store = self._workspace.surroundings.store
        self._check_loads()
        log = events(store, "life")
        said = Counter[str]()
        removed: set[str] = set()
        for envelope in log:
            match envelope.event:
                case conversation.UserMessageReceived(author="user") as message:
                    said[text_of(message.content[:1])] += 1
                case conversation.PromptDequeued(reason="removed") as dequeued:
                    removed.add(dequeued.item_id)
                case _:
                    pass
        for turn_id, text in self._sent.items():
            expected = 0 if turn_id in removed else 1
            assert said[text] == expected, f"{text!r} ({turn_id}) was said {said[text]} times"
        assert removed == self._removed
        assert set(said) <= set(self._sent.values())

    def _check_usage(self) -> None:
        given = self._model.given.values()
        total = self._session.state.usage.total
        for name, told in (("input", total.input_tokens), ("output", total.output_tokens)):
            assert told == sum(usage.get(f"{name}_tokens", 0) for usage in given), name

    def _check_loads(self) -> None:
        """See that the log leads to the state that was lived."""
        store, expected = self._workspace.surroundings.store, settled(self._session.state)
        for whole in (False, True):
            loaded = settled(load(store, "life", whole=whole).state)
            for name in type(expected).model_fields:
                found, mine = getattr(loaded, name), getattr(expected, name)
                assert found == mine, f"{name}, {whole=}: {found!r} was loaded, {mine!r} lived"


Action = Callable[[RandomLife], Awaitable[None]]

ACTIONS: dict[str, tuple[int, Action]] = {
    "prompt": (12, RandomLife.prompt),
    "repeat": (2, RandomLife.repeat),
    "cancel": (3, RandomLife.cancel),
    "cancel queued": (2, RandomLife.cancel_queued),
    "cancel wrong": (1, RandomLife.cancel_wrong),
    "compact": (2, RandomLife.compact),
    "clear": (1, RandomLife.clear),
    "redo": (2, RandomLife.redo),
    "rewind": (3, RandomLife.rewind),
    "answer": (8, RandomLife.answer),
    "answer wrong": (2, RandomLife.answer_wrong),
    "set mode": (1, RandomLife.set_mode),
    "set model": (1, RandomLife.set_model),
    "fast mode": (1, RandomLife.fast_mode),
    "stop task": (2, RandomLife.stop_task),
    "wait": (10, RandomLife.wait),
    "wait longer": (8, RandomLife.wait_longer),
    "reopen": (1, RandomLife.reopen),
    "reopen all": (1, RandomLife.reopen_all),
    "rest": (3, RandomLife.rest),
}
UNREFUSED = {"cancel", "cancel wrong", "reopen", "reopen all", "rest", "wait", "wait longer"}
"""What no agent may refuse at any time."""
