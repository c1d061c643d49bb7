"""Defines the vocabulary, which classifies identifiers as message lists, model calls, token counts or summaries by
their words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


def bag(text: str) -> frozenset[str]:
    """Return the words of a space-separated string as a set."""
    return frozenset(text.split())


def joined(text: str) -> frozenset[str]:
    """Return a set of names without underscores, so that `chat_completion` and `chatCompletion` are the same."""
    return bag(text.replace("_", ""))


_SPLIT = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@lru_cache(maxsize=65536)
def words(identifier: str) -> tuple[str, ...]:
    """Return the lower-case words of an identifier or path: `chatHistory2` becomes chat, history, 2."""
    return tuple(w.lower() for w in _SPLIT.findall(identifier))


# A name that ends in a strong word is a list of messages. For a weak word, the file or the type must agree.
STRONG = bag("messages msgs history conversation transcript dialog dialogue turns convo")
WEAK = bag(
    "events records items steps entries view views context contexts observations memory memories contents blocks facts "
    "queue buffer runs nodes parts chunks interactions logs cells pairs exchanges rounds checkpoints episodes"
)
# Words that give a strong name another meaning: an undo history, an error message, a git log.
_SPOILERS = bag(
    "undo redo error errors log logs logger command commands input search url urls git commit commits price "
    "navigation browser file files warning warnings status toast validation debug token tokens count length size id "
    "ids index idx path paths name names type types role roles schema schemas key keys template templates"
)
# Words that may precede `history`; any other word makes it the history of something else.
_MESSAGE_HISTORY_WORDS = bag(
    "chat message messages msg conversation dialog dialogue session thread agent user assistant llm model api ai full "
    "whole all old new recent past previous current prior trimmed filtered kept raw compressed compacted condensed "
    "truncated updated initial formatted final prompt input output tool turn context memory short long term working"
)
_VERBS = bag(
    "prune trim get set create build make save load send clear reset use enable include should is has show "
    "max min num total"
)
_LINKS = bag("to with for from before after up until since in by")
PLACES = bag(
    "memory memories condenser condensers condense compaction compact compactor context contexts history histories "
    "conversation conversations chat chats summary summarizer summarization summarizing window truncation truncate "
    "prune pruning compression compress compressor buffer messages message trim trimming forget forgetting"
)
SUMMARY = re.compile(r"summar|condens|compact|compress|distil|digest|recap|abridg|synops|consolidat", re.I)
SCORE = bag(
    "score scores importance important priority priorities relevance rank ranked ranking weight salience saliency "
    "utility decay recency attention"
)
MARKER = re.compile(
    r"truncat|omitted|elided|redact|masked|\[\.\.\.|\.\.\. ?\[|<\.\.\.|cleared|pruned|trimmed|content removed|dropped|"
    r"hidden|compacted|removed to save|no longer|skipped|shortened|…|too (long|large)|left out|cut off|"
    r"\bmore (line|char|byte|file|match|result|item|row|entr)|showing (the )?(first|last|only)",
    re.I,
)
TOKENS = bag("token tokens")
CHARS = bag("char chars character characters bytes length")
LIMITS = bag("max limit limits budget window threshold maximum capacity target allowed remaining")
OVERFLOW = re.compile(
    r"overflow|context.?(window|length|limit)|(too|exceed).*(long|token|context|length)|prompt.?too", re.I
)
EXTRACTED_TYPES = re.compile(r"(Chat|LLM|Agent|Base|Model|Any)?(Message|Msg|Turn|Event|Content)\w*(\[\]|\])", re.I)
LIST_TYPES = re.compile(r"\b([Ll]ist|Sequence|Iterable|Array|ReadonlyArray|MutableSequence|[Dd]eque)\b|\[\]")


def last_word(name: str) -> str:
    """Return the last word of an identifier."""
    parts = words(name)
    return parts[-1] if parts else ""


@lru_cache(maxsize=65536)
def name_likeness(name: str) -> int:
    """Return how likely it is that a name means a list of messages: 0 means no, 1 perhaps, and 2 yes."""
    parts = words(name)
    for at, word in enumerate(parts):
        if word in _LINKS and at:
            parts = parts[:at]  # `messages_to_flush`, `historyWithTokens`: the words before the link decide
            break
    if not parts or set(parts[:-1]) & _SPOILERS - {"input", "token", "tokens"}:
        return 0
    if parts[0] in _VERBS and parts[1:]:
        return 0  # `pruneMessages` is a function, `save_history` a switch, `max_messages` a number
    if parts[-1] == "history" and parts[-2:-1] and parts[-2] not in _MESSAGE_HISTORY_WORDS:
        return 1
    if parts[-1] in STRONG or (
        parts[-1] in ("list", "array", "buffer", "store", "log")
        and set(parts[:-1]) & {"message", "msg", "chat", "conversation", "history"}
    ):
        return 2
    if any(w in STRONG for w in parts):
        return 0 if parts[-1] in _SPOILERS else 1
    return 1 if parts[-1] in WEAK and not set(parts) & _SPOILERS else 0


@lru_cache(maxsize=16384)
def type_likeness(annotation: str) -> int:
    """Return how likely it is that an annotation means a list of messages: 0 means no, 1 perhaps, and 2 yes."""
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
    """Return 1 if the last parts of a path contain a word about memory or context, otherwise 0."""
    parts = path.rsplit(".", 1)[0].split("/")[-4:]
    path_words = {w for part in parts for w in words(part)}
    return 1 if path_words & PLACES else 0


LOGGING = re.compile(r"(^|\.|_)(log\w*|console|print|debug|info|warn\w*|span|tracer?|telemetry)\b[\w.]*$", re.I)
_SCREENS = bag(
    "react react-dom preact vue svelte ink solid-js @angular/core lit tkinter textual streamlit gradio curses npyscreen"
)


def draws_ui(path: str, modules: Iterable[str] = ()) -> bool:
    """Return whether a file is part of a user interface, so that the texts it shortens are for display."""
    return path.endswith((".tsx", ".jsx")) or any(m in _SCREENS or m.split(".")[0] in _SCREENS for m in modules)


_MODEL_STRONG = joined(
    "completion acompletion generate_content generate_content_async generatecontent generatecontentstream "
    "generate_content_stream generatetext streamtext generateobject streamobject chat_completion chat_completions "
    "create_chat_completion converse converse_stream achat acomplete stream_chat astream_chat structured_predict "
    "astructured_predict chat_with_tools achat_with_tools createmessage text_completion apredict predict_messages "
    "ainvoke_llm invoke_llm call_llm acall_llm llm_call get_llm_response ask_llm query_llm generate_response "
    "chat_completion_stream stream_completion astream_completion streamcompletion streamchat llm_completion "
    "generate_structured_output get_chat_completion run_llm generatejson generate_json send_completion "
    "request_model_response chat_complete achat_complete"
)
_MODEL_VERBS = joined(
    "chat complete invoke ainvoke call acall generate agenerate predict apredict stream astream run arun run_sync step "
    "astep ask response aresponse respond query prompt send reply areply generate_reply a_generate_reply create "
    "acreate parse request chat_stream complete_chat get_response get_completion aask request_async"
)
_MODEL_RECEIVERS = bag("llm llms model models lm chatmodel predictor summarizer summariser gateway")
_CLIENT_RECEIVERS = bag("client provider api handler backend chain runnable completions responses messages")
_AGENT_VERBS = joined("run arun run_sync step astep invoke ainvoke chat generate prompt ask reply stream")
_CLIENT_VERBS = joined(
    "chat complete invoke ainvoke generate agenerate predict create acreate stream chat_completion create_stream parse "
    "createmessage get_response"
)
# Pipeline components that wrap a model: `chat_generator.run(messages)`, `prompt_driver.run(stack)`.
_PART_RECEIVERS = bag("generator driver")
_PART_KINDS = bag("chat prompt llm text summary language message completion")
_PART_VERBS = joined("run arun run_async run_stream generate call invoke stream")


_MODEL_SHAPE = re.compile(
    r"^_?a?(async_)?(get|create|generate|send|request|call|invoke|fetch|stream|run|query)_?(streaming_|stream_)?"
    r"(chat|llm|language_?model|model|assistant|text)_?(message_?|completion_?)?(contents?|completions?|response|reply|message)s?$",
    re.I,
)


_MODEL_STEMS = ("generate", "chat", "complete", "stream", "invoke", "predict", "respond", "agenerate", "acomplete")
_MAKING = bag("get set create make build resolve load init is has use with")


def _is_model_name(name: str) -> bool:
    """Return whether a called name refers to a model or agent object, as in `llm(prompt)` or `summary_agent(text)`."""
    own = words(name)
    if not own or len(own) > 3 or not name[:1].islower() or _MAKING & set(own[:1]) or _LINKS & set(own):
        return False
    return own[-1:] in (("llm",), ("model",), ("agent",))


_ASKED_FOR = bag("messages history prompt contents")
_ASKED_WITH = bag(
    "system_prompt systemprompt chat_provider temperature max_tokens maxtokens model system tools "
    "toolchoice tool_choice "
    "response_format responseformat maxoutputtokens max_output_tokens systeminstruction "
    "system_instruction modelconfigkey"
)
_NOT_ASKING = bag(
    "count token tokens trim truncate format build convert log emit span trace validate prepare make estimate render "
    "to from parse serialize hash cache transform compose print dump record track report set update with dict init"
)


def is_asked_like_a_model(callee: str, keywords: tuple[str, ...]) -> bool:
    """Return whether keyword arguments show a model call, such as messages or a prompt together with a model, tools or
    a temperature."""
    keyword_names = {k.lower() for k in keywords}
    if not (keyword_names & _ASKED_FOR and keyword_names & _ASKED_WITH):
        return False
    name = callee.rpartition(".")[2]
    return bool(name) and not name[:1].isupper() and not _NOT_ASKING & set(words(name))


@lru_cache(maxsize=65536)
def is_model_call(callee: str) -> bool:
    """Return whether a dotted callee looks like a language model, or like an agent that wraps one."""
    parts = callee.split(".")
    shape = parts[-1].lower().lstrip("_")
    name = shape.replace("_", "")
    if name in _MODEL_STRONG or (len(parts) > 1 and _MODEL_SHAPE.match(shape)):
        return True
    owner: tuple[str, ...] = words(parts[-2]) if len(parts) > 1 else ()
    last = owner[-1] if owner else ""
    if name in ("create", "acreate", "stream", "parse", "send", "compact"):
        asks = last in ("completions", "responses", "messages", "chat") or (
            name != "parse" and last in ("llm", "client") and "model" in owner
        )
        # Only `stream` is specific enough for a model or an agent: other objects have `create` and `send` too.
        if asks or name != "stream" or last in _CLIENT_RECEIVERS:
            return asks
    if not owner:
        return _is_model_name(parts[-1])
    if {"llm", "lm"} & set(owner) and name.startswith(_MODEL_STEMS):
        return True
    if last in _MODEL_RECEIVERS:
        return name in _MODEL_VERBS or name.startswith(("generate", "stream", "complete", "invoke"))
    if last in _CLIENT_RECEIVERS:
        return name in _CLIENT_VERBS and (last != "api" or name != "create")
    if last in _PART_RECEIVERS and _PART_KINDS & set(owner):
        return name in _PART_VERBS
    return last == "agent" and name in _AGENT_VERBS
