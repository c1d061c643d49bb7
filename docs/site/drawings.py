"""The drawings in `docs/drawings/`, with one function for each."""

from __future__ import annotations

from svg import Drawing


def architecture() -> Drawing:
    d = Drawing(880, 470, "The parts of Memorist: doors, facades, engine, pure functions, stores")
    d.frame(20, 16, 840, 92, "doors")
    for at, name in enumerate(["your code", "CLI", "HTTP API", "MCP", "inspector", "adapters"]):
        d.box(40 + at * 137, 46, 120, 46, name, fill="blue")
    d.box(150, 134, 260, 54, "Memory", "blocking", fill="violet")
    d.box(470, 134, 260, 54, "AsyncMemory", "the same names, awaited", fill="violet")
    d.arrow((280, 108), (280, 134))
    d.arrow((600, 108), (600, 134))
    d.box(
        100,
        222,
        680,
        62,
        "engine",
        "threads · facts · learnings · documents · tasks · sessions · forgetting, written once",
        fill="green",
    )
    d.arrow((280, 188), (280, 222))
    d.arrow((600, 188), (600, 222))
    for at, (name, line) in enumerate(
        [("context", "budgets, policies"), ("recall", "ranking, reasons"), ("extract", "text to facts")]
    ):
        d.box(100 + at * 120, 322, 108, 58, name, line)
    d.arrow((270, 284), (270, 322), label="pure functions")
    d.box(480, 322, 300, 58, "store", "changes in one transaction, reads as data")
    d.arrow((630, 284), (630, 322))
    for at, name in enumerate(["SQLite file", "Postgres", "Redis / Cluster", "RAM", "two tiers"]):
        d.box(100 + at * 137, 412, 128, 42, name, fill="amber")
    d.arrow((630, 380), (630, 412))
    return d


def message() -> Drawing:
    d = Drawing(880, 330, "From a message to a fact to the profile to the next request")
    d.box(20, 40, 180, 76, "1 · message", "“I moved to Porto.”", "kept word for word", fill="blue")
    d.box(270, 40, 180, 76, "2 · fact", "location = Porto", "names its message", fill="green")
    d.box(520, 40, 150, 76, "3 · profile", "Lives in Porto", fill="amber")
    d.box(730, 40, 130, 76, "4 · request", "fits the budget", fill="violet")
    d.arrow((200, 78), (270, 78), label="read")
    d.arrow((450, 78), (520, 78), label="always")
    d.arrow((670, 78), (730, 78))
    d.box(270, 170, 180, 60, "index", "words and meaning")
    d.box(520, 170, 150, 60, "recall", "what the question needs", fill="green")
    d.arrow((110, 116), (110, 200), (270, 200))
    d.arrow((450, 200), (520, 200))
    d.arrow((670, 200), (795, 200), (795, 116))
    d.words(690, 192, "for this question", "small")
    d.words(120, 160, "searched", "small")
    d.words(20, 278, "memory.why(fact) follows the arrows back to the message.", "small")
    d.words(20, 302, "memory.forget(user=…) follows them forward and deletes everything it meets.", "small")
    return d


def tokens() -> Drawing:
    d = Drawing(880, 210, "A token budget: system, profile, memory, tools, history, input, reserve for the answer")
    d.words(20, 26, "budget = TokenBudget(8000, output_reserve=1000)", "title")
    d.bar(
        20,
        42,
        54,
        [
            ("system", 90, "violet"),
            ("profile", 80, "amber"),
            ("memory", 130, "green"),
            ("tools", 80, "box"),
            ("history", 270, "blue"),
            ("input", 70, "violet"),
            ("free", 50, "paper"),
            ("reserve", 70, "red"),
        ],
    )
    d.arrow((20, 124), (270, 124))
    d.arrow((270, 124), (20, 124))
    d.words(20, 144, "stable from turn to turn: the provider's cache serves it", "small")
    d.words(440, 124, "room that history does not need flows to memory, and back", "small")
    d.words(440, 144, "what does not fit is elided, folded into a summary or dropped,", "small")
    d.words(440, 162, "and the manifest says which and why", "small")
    d.words(20, 192, "The reserve is never filled: it is the model's answer.", "small")
    return d


def tiers() -> Drawing:
    d = Drawing(880, 260, "Two tiers: a hot store in front of a durable one")
    d.box(20, 96, 150, 64, "Memory", 'hot="redis://…"', fill="violet")
    d.box(330, 24, 220, 68, "hot store", "working memory, state, live history", fill="red")
    d.box(330, 164, 220, 68, "durable store", "everything; commits here first", fill="amber")
    d.arrow((170, 110), (330, 62), label="")
    d.words(196, 66, "reads of what is live", "small")
    d.arrow((170, 146), (330, 196))
    d.words(186, 200, "writes, other reads", "small")
    d.arrow((440, 164), (440, 92), label="copies, with their version")
    d.words(590, 50, "Flushed, restarted or unreachable:", "small")
    d.words(590, 68, "costs time, never data.", "small")
    d.words(590, 190, "Acknowledged means committed here.", "small")
    return d


def tenants() -> Drawing:
    d = Drawing(880, 300, "Orgs are walls; users have grants inside one")
    d.frame(20, 16, 410, 268, "org acme")
    d.frame(450, 16, 410, 268, "org globex: nothing crosses")
    d.box(44, 54, 170, 60, "handle of ada", 'scope(user="ada")', fill="violet")
    d.box(250, 54, 156, 46, "user:ada", fill="green")
    d.box(250, 116, 156, 46, "global")
    d.box(250, 178, 156, 46, "workflow:review", fill="amber")
    d.box(250, 240, 156, 34, "user:bob", fill="red")
    d.arrow((214, 76), (250, 76))
    d.words(44, 140, "reads and writes her own", "small")
    d.arrow((214, 100), (250, 136))
    d.words(44, 160, "reads global", "small")
    d.arrow((130, 176), (250, 200), dashed=True)
    d.words(44, 200, "only if granted:", "small")
    d.words(44, 218, 'write=["workflow:review"]', "small")
    d.words(44, 262, "never: Forbidden or NotFound", "small")
    d.box(480, 54, 170, 60, "handle of eve", fill="violet")
    d.box(680, 54, 156, 46, "user:eve", fill="green")
    d.box(680, 116, 156, 46, "global")
    d.arrow((650, 76), (680, 76))
    d.arrow((650, 100), (680, 136))
    return d


def forgetting() -> Drawing:
    d = Drawing(880, 300, "Forgetting follows everything derived")
    d.box(20, 30, 150, 56, "message", "what ada said", fill="blue")
    d.box(240, 10, 150, 46, "fact")
    d.box(240, 66, 150, 46, "summary")
    d.box(240, 122, 150, 46, "index, vector")
    d.box(460, 10, 170, 46, "fact of another", "derived from it")
    d.box(460, 66, 170, 46, "learning")
    d.arrow((170, 50), (240, 33))
    d.arrow((170, 60), (240, 89))
    d.arrow((170, 76), (240, 145))
    d.arrow((390, 33), (460, 33))
    d.arrow((390, 89), (460, 89))
    d.box(20, 210, 190, 62, "forget(user=…)", "written down first", fill="red")
    d.box(280, 210, 190, 62, "epoch moves on", "late writes are refused")
    d.box(540, 210, 150, 62, "rows go", "all of the above", fill="red")
    d.box(740, 210, 120, 62, "report", "counts, found", fill="green")
    d.arrow((210, 241), (280, 241))
    d.arrow((470, 241), (540, 241))
    d.arrow((690, 241), (740, 241))
    d.words(680, 40, "What is being derived right now", "small")
    d.words(680, 58, "is refused when it is written.", "small")
    return d


def tasks() -> Drawing:
    d = Drawing(880, 240, "A task killed half-way goes on behind its last completed step")
    d.words(20, 28, "first run", "title")
    for at, (name, fill) in enumerate([("a", "green"), ("b", "green"), ("c", "red")]):
        d.box(120 + at * 110, 10, 90, 40, name, fill=fill)
    d.words(460, 35, "killed while doing c: nothing of c is written", "small")
    d.words(20, 118, "next run", "title")
    for at, (name, fill) in enumerate([("a", "box"), ("b", "box"), ("c", "green"), ("d", "green")]):
        d.box(120 + at * 110, 100, 90, 40, name, fill=fill)
    d.words(580, 125, "a and b are skipped, c is done whole", "small")
    d.words(
        20,
        186,
        "task.complete(item) commits the subtask, the state and everything in task.batch() in one transaction.",
        "small",
    )
    d.words(20, 206, "A lease keeps other workers out; its fence number refuses a worker that lost it.", "small")
    return d


def recall() -> Drawing:
    d = Drawing(880, 250, "From a question to hits")
    d.box(20, 90, 140, 60, "question", "names, dates, form", fill="blue")
    d.box(220, 14, 170, 50, "words", "text index, BM25")
    d.box(220, 92, 170, 50, "meaning", "nearest vectors")
    d.box(220, 170, 170, 50, "facts", "and their source turns")
    d.box(460, 84, 170, 66, "features", "of the candidates only", fill="green")
    d.box(690, 84, 170, 66, "hits", "score and reasons", fill="violet")
    for y in (39, 117, 195):
        d.arrow((160, 120), (220, y))
        d.arrow((390, y), (460, 117))
    d.arrow((630, 117), (690, 117))
    d.words(460, 190, "A learned weighted sum; near-duplicates go;", "small")
    d.words(460, 208, "what a later one replaced is marked superseded.", "small")
    return d


def durability() -> Drawing:
    d = Drawing(880, 220, "An acknowledged write is committed")
    d.box(20, 60, 150, 60, "append", "your call", fill="blue")
    d.box(250, 60, 180, 60, "one transaction", "rows, job, audit event", fill="green")
    d.box(510, 60, 150, 60, "synced", 'durability="full"', fill="amber")
    d.box(720, 60, 140, 60, "receipt", "durable=True", fill="violet")
    d.arrow((170, 90), (250, 90))
    d.arrow((430, 90), (510, 90))
    d.arrow((660, 90), (720, 90))
    d.words(250, 150, "killed here: nothing of it is there", "small")
    d.words(510, 150, "killed from here on: all of it is there", "small")
    d.words(
        20,
        196,
        "An answer that never came raises UnknownOutcome; doing it again under the same key does nothing twice.",
        "small",
    )
    return d


DRAWINGS = {
    drawing.__name__: drawing
    for drawing in (architecture, message, tokens, tiers, tenants, forgetting, tasks, recall, durability)
}
