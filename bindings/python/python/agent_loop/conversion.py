"""A function for each format of `transcript.import_messages` and `transcript.export_messages`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._native import export_messages
from ._native import import_messages as _import_messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._native import Exported, Imported
    from .options import _Messages, _Model

__all__ = [
    "from_ai_sdk",
    "from_anthropic",
    "from_gemini",
    "from_openai",
    "from_openai_responses",
    "from_pi",
    "import_messages",
    "to_ai_sdk",
    "to_anthropic",
    "to_gemini",
    "to_openai",
    "to_openai_responses",
    "to_pi",
]


def _plain(value: Any) -> Any:
    """Objects of the vendors' packages, which are pydantic models, as dicts, wherever they stand."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    dump: Callable[..., Any] | None = getattr(value, "model_dump", None)
    return value if dump is None else dump(mode="json", exclude_none=True)


def import_messages(format: str, messages: Sequence[Any] | str, *, model: _Model | None = None) -> Imported:
    """Reads messages of another program: a list, or its text (of pi, the lines of a session's file).

    The list has dicts, or objects of the vendor's package. `format` is `openai_chat`, `openai_responses`, `anthropic`, `gemini`,
    `ai_sdk` or `pi`; each has a function of its own, such as `from_openai`. `model`, given as for `Agent`, is who wrote what the
    model said, where the messages do not say it: its signatures go back only to that model.
    Raises `InvalidArgumentError` for what is no list of such messages, with a JSON pointer to what is wrong."""
    return _import_messages(format, messages if isinstance(messages, str) else _plain(messages), model=model)


def from_openai(messages: Sequence[Any] | str, *, model: _Model | None = None) -> Imported:
    """Reads the messages of OpenAI's Chat Completions and compatible servers; see `import_messages`."""
    return import_messages("openai_chat", messages, model=model)


def to_openai(messages: _Messages, *, system_prompt: str = "") -> Exported:
    """Writes the messages of OpenAI's Chat Completions and compatible servers; see `export_messages`."""
    return export_messages("openai_chat", messages, system_prompt=system_prompt)


def from_openai_responses(messages: Sequence[Any] | str, *, model: _Model | None = None) -> Imported:
    """Reads the items of OpenAI's Responses: an input, or a response's output; see `import_messages`."""
    return import_messages("openai_responses", messages, model=model)


def to_openai_responses(messages: _Messages, *, system_prompt: str = "") -> Exported:
    """Writes the items of OpenAI's Responses; see `export_messages`."""
    return export_messages("openai_responses", messages, system_prompt=system_prompt)


def from_anthropic(messages: Sequence[Any] | str, *, model: _Model | None = None) -> Imported:
    """Reads the messages of Anthropic's API; see `import_messages`."""
    return import_messages("anthropic", messages, model=model)


def to_anthropic(messages: _Messages, *, system_prompt: str = "") -> Exported:
    """Writes the messages of Anthropic's API; see `export_messages`."""
    return export_messages("anthropic", messages, system_prompt=system_prompt)


def from_gemini(messages: Sequence[Any] | str, *, model: _Model | None = None) -> Imported:
    """Reads the contents of Gemini; see `import_messages`."""
    return import_messages("gemini", messages, model=model)


def to_gemini(messages: _Messages, *, system_prompt: str = "") -> Exported:
    """Writes the contents of Gemini; see `export_messages`."""
    return export_messages("gemini", messages, system_prompt=system_prompt)


def from_ai_sdk(messages: Sequence[Any] | str, *, model: _Model | None = None) -> Imported:
    """Reads UI messages of the AI SDK, versions 5 to 7; see `import_messages`."""
    return import_messages("ai_sdk", messages, model=model)


def to_ai_sdk(messages: _Messages, *, system_prompt: str = "") -> Exported:
    """Writes UI messages of the AI SDK, versions 5 to 7; see `export_messages`."""
    return export_messages("ai_sdk", messages, system_prompt=system_prompt)


def from_pi(messages: Sequence[Any] | str, *, model: _Model | None = None) -> Imported:
    """Reads a session of pi: the lines of its file, or its entries; see `import_messages`."""
    return import_messages("pi", messages, model=model)


def to_pi(messages: _Messages, *, system_prompt: str = "") -> Exported:
    """Writes a session of pi: the entries of its file, each a line of it; see `export_messages`."""
    return export_messages("pi", messages, system_prompt=system_prompt)
