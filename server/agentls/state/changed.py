"""A changed copy of a frozen value, or the very same object where nothing would be another."""

from typing import TypeVar

from agentls.protocol.wire_model import WireModel

M = TypeVar("M", bound=WireModel)


def changed(model: M, /, **update: object) -> M:
    """Return `model` with `update`, or the very same object where that says nothing new."""
    if all(getattr(model, name) == value for name, value in update.items()):
        return model
    return model.model_copy(update=update)
