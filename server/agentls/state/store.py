"""A reactive store: one value, changed only by pure functions of the old one."""

import logging
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

S = TypeVar("S")
Slice = TypeVar("Slice")

Listener = Callable[[S, S], None]
"""Called with the new value and the old one."""

logger = logging.getLogger(__name__)


class Store(Generic[S]):
    """Holds a value and tells of its changes, synchronously and in order.

    A change that returns the very same object stops there. `hook` runs before the subscribers. A
    change made from inside the hook or a subscriber waits until everyone has heard of the one
    before. What a hook or a subscriber raises is logged and harms nobody else.
    """

    def __init__(self, value: S, hook: Listener[S] | None = None) -> None:
        self._value = value
        self._hook = hook
        self._listeners: dict[Listener[S], None] = {}
        self._waiting: deque[Callable[[S], S]] = deque()
        self._notifying = False

    @property
    def value(self) -> S:
        """The value as it is now."""
        return self._value

    def update(self, change: Callable[[S], S]) -> None:
        """Replace the value by what `change` makes of it."""
        self._waiting.append(change)
        if self._notifying:
            return
        self._notifying = True
        try:
            while self._waiting:
                self._apply(self._waiting.popleft())
        finally:
            self._notifying = False

    def subscribe(self, listener: Listener[S]) -> Callable[[], None]:
        """Call `listener` after every change; one added twice counts once. Returns the way out."""
        self._listeners[listener] = None
        return lambda: self._listeners.pop(listener, None)

    def subscribe_to(
        self, selector: Callable[[S], Slice], listener: Listener[Slice]
    ) -> Callable[[], None]:
        """Call `listener` when what `selector` returns is another object than before."""

        def compare(new: S, old: S) -> None:
            new_slice, old_slice = selector(new), selector(old)
            if new_slice is not old_slice:
                listener(new_slice, old_slice)

        return self.subscribe(compare)

    def _apply(self, change: Callable[[S], S]) -> None:
        old = self._value
        new = change(old)
        if new is old:
            return
        self._value = new
        if self._hook is not None:
            _tell(self._hook, new, old)
        for listener in tuple(self._listeners):
            _tell(listener, new, old)


def _tell(listener: Listener[S], new: S, old: S) -> None:
    try:
        listener(new, old)
    except Exception:
        logger.exception("a listener failed; the others go on")
