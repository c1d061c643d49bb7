"""Finds the memory tiers (working, session, persistent), and the storage, capacity and retrieval of each."""

from __future__ import annotations

from dataclasses import dataclass, field

from memorist_analyze import words
from memorist_analyze.assembly import Place
from memorist_analyze.catalog import MEMORY_WORDS, SEMANTIC, STORE_WORDS, storages_of
from memorist_analyze.discover import Checkout
from memorist_analyze.findings import Finding
from memorist_analyze.records import Class, Evidence, File
from memorist_analyze.words import bag
from memorist_analyze.world import World

# If a file imports a key and one of its values, only the key counts, because the value is just its driver.
_DRIVERS = {
    "pgvector": ("postgres", "sqlalchemy"), "sqlite_diskcache": ("sqlite",), "tidb": ("sqlalchemy", "mysql"),
    "oceanbase": ("sqlalchemy", "mysql"),
}  # fmt: skip
_UNFILTERED = {"sqlite_diskcache", "vector_index_files"}
_ELSEWHERE = bag(
    "toolkit toolkits tools tool apps bots analytics telemetry auth loader loaders reader readers datagen dataset "
    "datasets benchmarks command commands scripts reward rewards environments interpreters runtime sandbox hub models "
    "evaluation evaluator settings secrets config benchmark"
)
_HOSTS = bag("server app api web gateway router routers routes")
_DRIVEN = bag("postgres mysql sqlite pgvector mssql oracle sqlite_vec")
_NO_ADAPTER = bag("json_files markdown_files python_dict python_list js_array vector_index_files")
_BASES = bag("ABC BaseModel Protocol Generic object Enum BaseComponent Component str")


@dataclass(slots=True)
class Tier:
    """Describes one tier of memory: its storage, its ways of retrieval (immediate, direct, semantic) and its
    capacity."""

    tier: str
    storage: list[str]
    retrieval: list[str]
    capacity: str = "not determined"
    locations: list[Place] = field(default_factory=list)


def offered(world: World, checkout: Checkout) -> dict[str, list[Place]]:
    """Return storage that users can plug in, from adapter families and optional dependencies."""
    families: dict[tuple[str, str], list[tuple[Class, Place, str]]] = {}
    members: dict[tuple[str, str], int] = {}
    for file in world.files:
        for record in file.classes:
            for base in record.bases:
                members[file.package, base] = members.get((file.package, base), 0) + 1
                for item in file.storage:
                    location = Place(file.path, item.line, record.name, "storage", item.why)
                    families.setdefault((file.package, base), []).append((record, location, item.value))
    offers: dict[str, list[Place]] = {}
    for key, candidates in sorted(families.items()):
        own = {r.name for r, _, _ in candidates}
        names = {v for _, _, v in candidates if v not in _NO_ADAPTER}
        if key[1] not in _BASES and len(names) > 2 and len(own) * 2 > members[key]:
            for _, location, value in candidates:
                if value in names:
                    offers.setdefault(value, []).append(location)
    imported = {e.value for f in world.files for e in f.storage if not _ELSEWHERE & set(words.words(f.path))}
    mapped = "sqlalchemy" in imported
    for manifest in checkout.manifests:
        for name, package in storages_of(manifest.offers).items():
            if name in offers or name in imported or (mapped and name in _DRIVEN):
                location = Place(f"{manifest.folder}/".lstrip("/"), 1, package, "manifest", f"offers {package}")
                offers.setdefault(name, []).append(location)
    _drop_mapper(offers)
    return dict(sorted(offers.items()))


def _drop_mapper(storages: dict[str, list[Place]]) -> None:
    """Drop a mapper next to the database that it maps to, because it is not separate storage."""
    if storages.keys() & _DRIVEN:
        storages.pop("sqlalchemy", None)


def tiers(world: World, findings: list[Finding]) -> list[Tier]:
    """Return the tiers: working, session, and persistent (by key, by vector search, Markdown notes)."""
    result: list[Tier] = []
    working = _lists(world)
    language = _language(world)
    listed = "js_array" if language == "typescript" else "python_list"
    if working:
        result.append(Tier("working", [listed], ["immediate"], _capacity(world, findings), working[:3]))
    storages = _storages(world)
    dictionary = storages.pop("python_dict", [])
    session = [p for p in working if {"session", "store", "history", "state"} & set(words.words(p.path + p.symbol))]
    if session or dictionary:
        storage = ([listed] if session else []) + (["python_dict"] if dictionary else [])
        reached = ["immediate"] if not dictionary else ["direct"]
        result.append(Tier("session", storage, reached, "unbounded", (session + dictionary)[:3]))
    notes = storages.pop("markdown_files", [])
    semantic = {
        k: v for k, v in storages.items() if k in SEMANTIC or k in ("vector_index_files", "vector_store_pluggable")
    }
    direct = {k: v for k, v in storages.items() if k not in semantic}
    for group, retrieval in (
        (direct, "direct"),
        (semantic, "semantic"),
        ({"markdown_files": notes} if notes else {}, "direct"),
    ):
        if group:
            places = [p for v in group.values() for p in v[:2]]
            result.append(Tier("persistent", sorted(group), [retrieval], "unbounded", places[:8]))
    return result


def _language(world: World) -> str:
    lines: dict[str, int] = {}
    for file in world.files:
        kind = "python" if file.language == "python" else "typescript"
        lines[kind] = lines.get(kind, 0) + file.lines
    return max(sorted(lines), key=lambda k: lines[k], default="python")


def _lists(world: World) -> list[Place]:
    """Return message lists in fields of classes. If there are none, return the functions that build one for each model
    call."""
    places: list[Place] = []
    for file in world.files:
        for record in file.classes:
            for name, (annotation, value, line) in record.fields.items():
                like = max(words.name_likeness(name), words.type_likeness(annotation))
                is_list = value in ("[]", "list()", "[…]") or words.LIST_TYPES.search(annotation) is not None
                if like > 1 and is_list:
                    places.append(Place(file.path, line, record.name, "list", f"{name}: {annotation or value}"))
    places.sort(key=lambda p: (not {"agent", "memory", "session", "chat"} & set(words.words(p.path)), p.path, p.line))
    if not places:
        places = [
            Place(f.path, f.line, f.symbol, "list", "message list built for each call")
            for f in world.functions
            if f.model_calls and "gives_messages" in f.marks
        ]
    return places


def _storages(world: World) -> dict[str, list[Place]]:
    believed: dict[str, list[Place]] = {}
    hosted: dict[str, list[Place]] = {}
    for file in world.files:
        names = {e.value for e in file.storage}
        hidden = {driver for name in names for driver in _DRIVERS.get(name, ())}
        for item in file.storage:
            if item.value in hidden or not _is_memory(world, file, item):
                continue
            location = Place(file.path, item.line, item.symbol, "storage", item.why)
            is_host = bool(_HOSTS & set(words.words(file.path)))
            (hosted if is_host else believed).setdefault(item.value, []).append(location)
    _drop_mapper(believed)
    durable = [k for k in believed if k not in ("python_dict", "markdown_files")]
    if not durable:
        for name, places in hosted.items():
            believed.setdefault(name, []).extend(places)
    if not any(k in SEMANTIC for k in believed):
        pluggable = _pluggable_vectors(world)
        if pluggable:
            believed["vector_store_pluggable"] = pluggable
    return dict(sorted(believed.items()))


def _is_memory(world: World, file: File, item: Evidence) -> bool:
    if item.value == "vector_index_files":
        return not any(name in world.classes for name in ("VectorStoreIndex", "StorageContext"))
    if item.value in _UNFILTERED:
        return True
    own = set(words.words(file.path.rpartition("/")[2])) | set(words.words(item.symbol))
    path = set(words.words("/".join(file.path.split("/")[-4:])))
    if item.value == "markdown_files":
        return not path & {"telemetry", "website"}
    if path & _ELSEWHERE and not own & {"memory", "session", "sessions", "history", "conversation"}:
        return False
    if (path | own) & MEMORY_WORDS:
        return True
    return bool(path & STORE_WORDS) and _is_linked(world, file)


def _is_linked(world: World, file: File) -> bool:
    """Return whether a memory module in another folder refers to a class or function of this file."""
    folder = file.path.rpartition("/")[0]
    free = [f.name for f in file.functions if not f.owner and len(f.name) > 8 and "." not in f.symbol]
    for names in [*((r.name, *_ancestors(world, r)) for r in file.classes), free]:
        for name in names:
            for path in world.references.get(name, {}):
                if path.rpartition("/")[0] != folder and not path.endswith("__init__.py") and _is_memory_path(path):
                    return True
    return False


def _ancestors(world: World, record: Class) -> list[str]:
    ancestors = [b for b in record.bases if b not in _BASES]
    for base in list(ancestors):
        for parent in world.classes.get(base, []):
            ancestors.extend(b for b in parent.bases if b not in _BASES and b not in ancestors)
    return ancestors


def _is_memory_path(path: str) -> bool:
    return bool(set(words.words("/".join(path.split("/")[-3:]))) & (MEMORY_WORDS | {"stream"}))


def _pluggable_vectors(world: World) -> list[Place]:
    """Return fields and parameters of memory modules that accept any vector store."""
    places: list[Place] = []
    for file in world.files:
        if not set(words.words(file.path)) & {"memory", "memories"}:
            continue
        for record in file.classes:
            for name, (annotation, _, line) in record.fields.items():
                if "vector" in annotation.lower() and "store" in annotation.lower():
                    places.append(Place(file.path, line, record.name, "storage", f"{name}: {annotation[:50]}"))
        for function in file.functions:
            for param in function.params:
                if "vector" in param.annotation.lower() and "stor" in param.annotation.lower():
                    why = f"{param.name}: {param.annotation[:50]}"
                    places.append(Place(file.path, function.line, function.symbol, "storage", why))
    return places[:4]


def _capacity(world: World, findings: list[Finding]) -> str:
    """Return the limit of the working tier, which is the setting of the first mechanism that bounds the history."""
    for finding in findings:
        if finding.strategy in ("fifo_message_count", "token_window", "summarization") and finding.subject == "history":
            unit = "messages" if finding.strategy == "fifo_message_count" else "tokens"
            for record in world.classes.get(finding.function.owner, []):
                if record.path == finding.path:
                    limit = _limit(world, record)
                    if limit:
                        return (
                            f"{limit} ({finding.symbol}, {unit}{', default' if finding.default_on else ', optional'})"
                        )
    bounded = [f for f in findings if f.subject == "history" and f.wired]
    return "bounded by " + bounded[0].symbol if bounded else "unbounded"


def _limit(world: World, record: Class) -> str:
    for function in world.functions:
        if (
            function.path == record.path
            and function.owner == record.name
            and function.name in ("__init__", "constructor")
        ):
            for param in function.params:
                if {"max", "window", "limit", "size", "threshold"} & set(words.words(param.name)) and param.default:
                    return f"{param.name}={param.default}"
    for name, (_, value, _) in record.fields.items():
        if {"max", "window", "limit", "size", "threshold"} & set(words.words(name)) and value and value[0].isdigit():
            return f"{name}={value}"
    return ""
