"""The vocabulary: what identifiers say about message lists, model calls, tokens and summaries."""

from __future__ import annotations

import re
from functools import lru_cache

_SPLIT = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@lru_cache(maxsize=65536)
def words(identifier: str) -> tuple[str, ...]:
    """The lower-case words of an identifier or path: `chatHistory2` is chat, history, 2."""
    return tuple(w.lower() for w in _SPLIT.findall(identifier))


# A list named by one of these is a list of messages; by a weak one, it is if the place or the type agrees.
STRONG = frozenset(
    "messages msgs history histories conversation conversations transcript dialog dialogue turns convo".split()
)
WEAK = frozenset(
    "events records items steps entries view views context contexts observations memory memories contents blocks facts "
    "queue buffer runs nodes parts chunks interactions logs cells pairs exchanges rounds checkpoints episodes".split()
)
# Words that make a strong name mean something else: an undo history, an error message, a git log.
_SPOILERS = frozenset(
    "undo redo error errors log logs logger command commands input search url urls git commit commits price "
    "navigation browser file files warning warnings status toast validation debug token tokens count length size id "
    "ids index idx path paths name names type types role roles schema schemas key keys template templates".split()
)
_LINKS = frozenset("to with for from before after up until since in by".split())
PLACES = frozenset(
    "memory memories condenser condensers condense compaction compact compactor context contexts history histories "
    "conversation conversations chat chats summary summarizer summarization summarizing window truncation truncate "
    "prune pruning compression compress compressor buffer messages message trim trimming forget forgetting".split()
)
ASIDE_PLACES = frozenset(
    "telemetry tracing trace logging logger metrics analytics instrumentation callbacks callback tracer otel "
    "observability monitor monitoring dashboard tui screen display widget widgets renderer theme "
    "detection detector detect stuck replay".split()
)
SUMMARY = re.compile(r"summar|condens|compact|compress|distil|digest|recap|abridg|synops|consolidat", re.I)
SCORE = frozenset(
    "score scores importance important priority priorities relevance rank ranked ranking weight salience saliency "
    "utility decay recency attention".split()
)
MARKER = re.compile(
    r"truncat|omitted|elided|redact|masked|\[\.\.\.|\.\.\. ?\[|<\.\.\.|cleared|pruned|trimmed|content removed|dropped|"
    r"hidden|compacted|removed to save|no longer|skipped|shortened|…|too (long|large)",
    re.I,
)
TOKENS = frozenset("token tokens".split())
CHARS = frozenset("char chars character characters bytes length".split())
LIMITS = frozenset("max limit limits budget window threshold maximum capacity target allowed remaining".split())
OVERFLOW = re.compile(r"overflow|context.?(window|length|limit)|(too|exceed).*(long|token|context|length)|prompt.?too", re.I)
EXTRACTED_TYPES = re.compile(r"(Chat|LLM|Agent|Base|Model|Any)?(Message|Msg|Turn|Event|Content)\w*(\[\]|\])", re.I)
LIST_TYPES = re.compile(r"\b([Ll]ist|Sequence|Iterable|Array|ReadonlyArray|MutableSequence|[Dd]eque)\b|\[\]")


def plural_word(name: str) -> str:
    """The last word of an identifier."""
    found = words(name)
    return found[-1] if found else ""


@lru_cache(maxsize=65536)
def name_likeness(name: str) -> int:
    """How much a name alone says "list of messages": 0 no, 1 perhaps, 2 yes."""
    found = words(name)
    for at, word in enumerate(found):
        if word in _LINKS and at:
            found = found[:at]  # `messages_to_flush`, `historyWithTokens`: what stands before says what it is
            break
    if not found or set(found[:-1]) & _SPOILERS - {"input", "token", "tokens"}:
        return 0
    if found[-1] in STRONG or (
        found[-1] in ("list", "array", "queue", "buffer", "store", "log", "window")
        and set(found[:-1]) & {"message", "msg", "chat", "conversation", "history"}
    ):
        return 2
    if any(w in STRONG for w in found):
        return 0 if found[-1] in _SPOILERS else 1
    return 1 if found[-1] in WEAK and not set(found) & _SPOILERS else 0


@lru_cache(maxsize=16384)
def type_likeness(annotation: str) -> int:
    """How much an annotation says "list of messages"."""
    if not annotation or annotation in ("str", "string", "int", "number", "bool", "boolean"):
        return 0
    if EXTRACTED_TYPES.search(annotation) and LIST_TYPES.search(annotation):
        return 2
    tail = words(annotation)
    if any(w in STRONG for w in tail) and "str" not in tail[:1]:
        return 2 if LIST_TYPES.search(annotation) or tail[-1] in STRONG else 1
    return 1 if tail and tail[-1] in ("view", "memory", "context", "events") else 0


@lru_cache(maxsize=16384)
def place_likeness(path: str) -> int:
    """One if the file's own path speaks of memory or context, else nought."""
    parts = path.rsplit(".", 1)[0].split("/")[-4:]
    found = {w for part in parts for w in words(part)}
    return 1 if found & PLACES else 0


@lru_cache(maxsize=16384)
def is_aside_place(path: str) -> bool:
    """Telemetry, logging and user interface: they read messages and evict nothing."""
    parts = path.rsplit(".", 1)[0].split("/")[-4:]
    return bool({w for part in parts for w in words(part)} & ASIDE_PLACES)


_MODEL_STRONG = frozenset(
    "completion acompletion generate_content generate_content_async generatecontent generatecontentstream "
    "generate_content_stream generatetext streamtext generateobject streamobject chat_completion chat_completions "
    "create_chat_completion converse converse_stream achat acomplete stream_chat astream_chat structured_predict "
    "astructured_predict chat_with_tools achat_with_tools createmessage text_completion apredict predict_messages "
    "ainvoke_llm invoke_llm call_llm acall_llm llm_call get_llm_response ask_llm query_llm generate_response "
    "chat_completion_stream stream_completion astream_completion streamcompletion streamchat llm_completion "
    "get_chat_completion run_llm generatejson generate_json send_completion request_model_response".split()
)
_MODEL_VERBS = frozenset(
    "chat complete invoke ainvoke call acall generate agenerate predict apredict stream astream run arun run_sync step "
    "astep ask response aresponse respond query prompt send reply areply generate_reply a_generate_reply create acreate "
    "parse request chat_stream complete_chat get_response get_completion".split()
)
_MODEL_RECEIVERS = frozenset("llm llms model models lm chatmodel predictor summarizer summariser gateway".split())
_CLIENT_RECEIVERS = frozenset("client provider api handler backend chain runnable completions responses messages".split())
_AGENT_VERBS = frozenset("run arun run_sync step astep invoke ainvoke chat generate prompt ask reply stream".split())
_CLIENT_VERBS = frozenset(
    "chat complete invoke ainvoke generate agenerate predict create acreate stream chat_completion create_stream parse "
    "createmessage".split()
)


_MODEL_SHAPE = re.compile(
    r"^_?a?(async_)?(get|create|generate|send|request|call|invoke|fetch|stream|run|query)_?(streaming_|stream_)?"
    r"(chat|llm|language_?model|model|assistant|text)_?(message_?|completion_?)?(contents?|completions?|response|reply|message)s?$",
    re.I,
)


@lru_cache(maxsize=65536)
def is_model_call(callee: str) -> bool:
    """Does a dotted callee look like a call of a language model, or of an agent that wraps one?"""
    parts = callee.split(".")
    name = parts[-1].lower()
    if name in _MODEL_STRONG or (len(parts) > 1 and _MODEL_SHAPE.match(name)):
        return True
    owner = words(parts[-2]) if len(parts) > 1 else ()
    last = owner[-1] if owner else ""
    if name in ("create", "acreate", "stream", "parse", "send"):
        return last in ("completions", "responses", "messages", "chat") or (
            name != "parse" and last in ("llm", "client") and "model" in owner
        )
    if not owner:
        own = words(parts[-1])
        return bool(own) and own[-1] in ("llm", "model", "agent") and parts[-1][:1].islower() and len(own) <= 3 and (
            own[0] not in ("get", "set", "create", "make", "build", "resolve", "load", "init", "is", "has", "use", "with")
        )
    if last in _MODEL_RECEIVERS:
        return name in _MODEL_VERBS
    if last in _CLIENT_RECEIVERS:
        return name in _CLIENT_VERBS and (last != "api" or name != "create")
    return last == "agent" and name in _AGENT_VERBS
