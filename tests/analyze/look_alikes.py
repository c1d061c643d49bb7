"""Programs that evict, each beside one that only looks so: the shortened thing goes elsewhere or stays whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A program, the strategy it shows, and the same program without that behaviour."""

    name: str
    strategy: str
    path: str
    does: str
    does_not: str


LOOK_ALIKES = (
    Program(
        "the tail of a list in its own place, not one element exchanged",
        "fifo_message_count",
        "core/o.ts",
        """
export class Engine {
  add(message: Message) {
    this.messages = [...this.messages.slice(0, 1), ...this.messages.slice(-this.keep), message];
  }
  async run() {
    return await this.llm.chat(this.messages);
  }
}
""",
        """
export class Engine {
  add(message: Message) {
    const at = this.messages.findIndex((m) => m.id === message.id);
    this.messages = [...this.messages.slice(0, at), message, ...this.messages.slice(at + 1)];
  }
  async run() {
    return await this.llm.chat(this.messages);
  }
}
""",
    ),
    Program(
        "a list overwritten by its tail, not a tail kept beside it",
        "fifo_message_count",
        "core/p.ts",
        """
export class Engine {
  tidy() {
    this.messages = this.messages.slice(-20);
  }
  async run() {
    return await this.llm.chat(this.messages);
  }
}
""",
        """
export class Engine {
  tidy() {
    this.cachedMessages = this.messages.slice(this.start);
    this.other = undefined;
  }
  async run() {
    return await this.llm.chat([...this.messages, ...this.cachedMessages]);
  }
}
""",
    ),
    Program(
        "a summary in the list, not the set-up of a function that prunes",
        "summarization",
        "core/q.ts",
        """
export class Engine {
  async run(context: Context) {
    const answer = await generateText({ model: this.model, messages: context.messages });
    context.messages = [{ role: "user", content: answer.text }, ...context.messages.slice(-this.keep)];
  }
}
""",
        """
export class Engine {
  async run(context: Context) {
    context.pruneMessages = createPrune({ start: 0, summarizationEnabled: context.summarizationEnabled });
    return await generateText({ model: this.model, messages: context.messages });
  }
}
""",
    ),
    Program(
        "the newest messages handed to the next in a chain",
        "fifo_message_count",
        "core/ae.py",
        """
class Limit:
    async def on_call(self, proceed, messages, context):
        newest = messages[-self.most :]
        return await proceed(newest, context)
""",
        """
class Limit:
    async def on_call(self, proceed, messages, context):
        newest = messages[-self.most :]
        self.watch(newest)
        return await proceed(messages, context)
""",
    ),
    Program(
        "the newest messages read for an agent, not for a web request",
        "fifo_message_count",
        "core/af.py",
        """
class Session:
    def newest(self, limit):
        return self.messages[-limit:]

async def run(session, llm):
    return await llm.chat(session.newest(20))
""",
        """
@router.get("/sessions/{key}")
async def newest(key, limit):
    messages = await store.load(key)
    return messages[-limit:]
""",
    ),
    Program(
        "a large text shortened, not refused",
        "offload",
        "core/ag.py",
        """
def keep(output, limit, place):
    if len(output) > limit:
        files.write(place, output)
        return output[:limit] + f" The full output was saved to {place}"
    return output
""",
        """
def keep(output, limit, place):
    if len(output) > limit:
        raise ValueError("too large")
    files.write(place, output)
    return f"The output was saved to {place}: {output[:200]}"
""",
    ),
    Program(
        "a part with less in it, not a part taken over whole",
        "content_elision",
        "messages/r.ts",
        """
export function fitted(messages: Message[], limit: number) {
  return messages.map((message) => {
    if (message.content.length > limit) {
      return { ...message, content: message.content.slice(0, limit) + "[truncated]" };
    }
    return message;
  });
}
""",
        """
export function formatted(messages: Message[], cacheControl?: string) {
  return messages.map((message) => {
    const redactedPart = message as RedactedPart;
    return { type: "redacted", data: redactedPart.data, ...(cacheControl != null ? { cacheControl } : {}) };
  });
}
""",
    ),
    Program(
        "a copy of a message with a shortened content, not another format",
        "content_elision",
        "messages/s.ts",
        """
function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  return text.slice(0, most);
}
export function fitted(messages: Message[]) {
  return messages.map((m) => ({ ...m, content: clip(m.content, 2000) }));
}
""",
        """
function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  return text.slice(0, most);
}
export function converted(message: Message) {
  const content = message.parts.map((p) => ({ text: clip(p.text, 2000) }));
  return { role: "user", content, ...(message.failed ? { status: "error" } : {}) };
}
""",
    ),
    Program(
        "the content of a message cut, not added to",
        "content_elision",
        "core/t.py",
        """
def inject(messages, found):
    for message in messages:
        if len(message["content"]) > 8000:
            message["content"] = message["content"][:8000] + " [... truncated]"
    return messages
""",
        """
def inject(messages, found):
    if len(found) > 8000:
        found = found[:8000]
    message = {**messages[0]}
    message["content"] = (message.get("content") or "") + found
    return [message, *messages[1:]]
""",
    ),
    Program(
        "the result of a tool cut, not what is said of an error",
        "content_elision",
        "core/u.py",
        """
class Tools:
    async def call(self, name, arguments):
        result = await self.tools[name](arguments)
        if len(result) > self.limit:
            return result[: self.limit] + "\\n(truncated)"
        return result
""",
        """
class Tools:
    async def call(self, name, arguments):
        shown = arguments[:200] if len(arguments) > 200 else arguments
        try:
            return await self.tools[name](arguments)
        except TimeoutError:
            return f"The tool took too long. The call (truncated): {shown}"
""",
    ),
    Program(
        "an output saved with a note where it is, not a crash file named in an exception",
        "offload",
        "core/w.ts",
        """
export function result(output: string, limit: number) {
  if (output.length > limit) {
    fs.writeFileSync(place, output);
    return [output.slice(0, limit), `The full output was written to ${place}`].join("\\n");
  }
  return output;
}
""",
        """
export function result(output: string, limit: number) {
  if (output.length > limit) {
    fs.writeFileSync(place, output);
    const said = [`The line is too long: ${output.length} > ${limit}`, `Debug log written to: ${place}`].join("\\n");
    throw new Error(said);
  }
  return output.slice(0, limit);
}
""",
    ),
    Program(
        "a reference that goes into the note, not a record kept beside",
        "offload",
        "core/x.py",
        """
def save(text):
    return files.put(text)

def preview(text, most, where):
    return text[:most] + where

def fit(result, budget):
    if count_tokens(result) > budget:
        where = save(result)
        return preview(result, 500, where)
    return result
""",
        """
def save(text):
    return files.put(text)

def preview(text, most):
    return text[:most]

def fit(result, budget):
    if count_tokens(result) > budget:
        save(result)
    return preview(result, 500)
""",
    ),
    Program(
        "several parts saved at once, and where they are in the note",
        "offload",
        "core/ah.ts",
        """
export class Keeper {
  private async put(part: Part, key: string) {
    return await this.storage.put(part.text, key);
  }
  private preview(text: string, places: string[]) {
    return text.slice(0, this.most) + places.join(" ");
  }
  async lighten(result: Result) {
    const used = await this.model.countTokens(result.parts);
    if (used <= this.limit) return result.text;
    const places = await Promise.all(result.parts.map((part, i) => this.put(part, `${result.key}_${i}`)));
    return this.preview(result.text, places);
  }
}
""",
        """
export class Keeper {
  private async put(part: Part, key: string) {
    return await this.storage.put(part.text, key);
  }
  private preview(text: string, count: number) {
    return text.slice(0, this.most) + count;
  }
  async lighten(result: Result) {
    const used = await this.model.countTokens(result.parts);
    if (used <= this.limit) return result.text;
    const places = await Promise.all(result.parts.map((part, i) => this.put(part, `${result.key}_${i}`)));
    return this.preview(result.text, places.length);
  }
}
""",
    ),
    Program(
        "a content that a helper cut, not one made beside a cut",
        "content_elision",
        "core/ai.py",
        """
def clip(text, most):
    return text[:most]

def fit(messages, budget):
    for message in messages:
        if count_tokens(message) > budget:
            short = clip(message.content, 400)
            message.content = short
""",
        """
def clip(text, most):
    return text[:most]

def fit(messages, budget):
    for message in messages:
        if count_tokens(message) > budget:
            key = clip(message.key, 400)
            block = Block(key, message)
            parts = wire(block)
            message.content = framed(parts)
""",
    ),
    Program(
        "some messages masked and others passed on, not all put into another format",
        "content_elision",
        "core/y.ts",
        """
export function masked(messages: Message[]) {
  const result: Message[] = [];
  for (const m of messages) {
    if (m.old) result.push({ role: m.role, content: "(output omitted)" });
    else result.push(m);
  }
  return result;
}
""",
        """
export function converted(messages: Message[], images: boolean) {
  const result: Wire[] = [];
  for (const m of messages) {
    if (m.image && !images) result.push({ role: "user", content: "(image omitted: not supported)" });
    else result.push({ role: m.role, content: clean(m.content) });
  }
  return result;
}
""",
    ),
    Program(
        "each message made shorter, not each call carried out",
        "content_elision",
        "core/z.py",
        """
class Worker:
    def shorter(self, message):
        if len(message) > self.limit:
            return message[: self.limit]
        return message

    def fit(self, messages):
        return [self.shorter(m) for m in messages]
""",
        """
class Worker:
    def handle(self, message):
        result = self.tools[message](message)
        if len(message) > self.limit:
            return message[: self.limit]
        return result

    def work(self, messages):
        return [self.handle(m) for m in messages]
""",
    ),
    Program(
        "a result cut for the model, not a text to be displayed",
        "content_elision",
        "core/aa.ts",
        """
export class Tool {
  async run(output: string, limit: number) {
    let text = output;
    if (output.length > limit) text = output.slice(0, limit) + "\\n(output truncated)";
    this.messages.push({ role: "tool", content: text });
  }
}
""",
        """
export class Tool {
  async run(output: string, limit: number) {
    let text = output;
    if (output.length > limit) text = output.slice(0, limit) + "\\n(output truncated)";
    const displayText = text + this.dots;
    this.messages.push({ role: "tool", content: displayText });
  }
}
""",
    ),
    Program(
        "a helper that cuts results, not one that only loggers use",
        "content_elision",
        "core/ab.py",
        """
def clip(text, limit):
    if len(text) <= limit:
        return text
    return text[:limit] + " [truncated]"

def work(output):
    return clip(output, 1000)
""",
        """
def clip(text, limit):
    if len(text) <= limit:
        return text
    return text[:limit] + " [truncated]"

def work(output):
    logger.info(clip(output, 1000))
    return output
""",
    ),
    Program(
        "messages with their content masked for a model, not for a log",
        "content_elision",
        "core/aj.py",
        """
def masked(messages):
    kept = []
    for m in messages:
        kept.append({**m, "content": "[data omitted]"} if m["old"] else m)
    for m in kept:
        m["content"] = "[data omitted]"
    return kept

def run(llm, messages):
    return llm.chat(masked(messages))
""",
        """
def masked(messages):
    kept = []
    for m in messages:
        kept.append({**m, "content": "[data omitted]"} if m["old"] else m)
    for m in kept:
        m["content"] = "[data omitted]"
    return kept

def run(llm, messages):
    logger.debug(masked(messages))
    return llm.chat(messages)
""",
    ),
    Program(
        "a helper that cuts results, not one that feeds a summary two calls above",
        "content_elision",
        "core/ac.ts",
        """
function clip(output: string, limit: number): string {
  if (output.length <= limit) return output;
  return `${output.slice(0, limit)} [truncated]`;
}
export function wire(messages: Message[]) {
  return messages.map((m) => clip(m.output, 2000)).join("\\n");
}
export async function answer(messages: Message[]) {
  return await generateText({ model, prompt: wire(messages) });
}
""",
        """
function clip(output: string, limit: number): string {
  if (output.length <= limit) return output;
  return `${output.slice(0, limit)} [truncated]`;
}
export function wire(messages: Message[]) {
  return messages.map((m) => clip(m.output, 2000)).join("\\n");
}
export async function summarize(messages: Message[]) {
  return await generateText({ model, prompt: wire(messages) });
}
""",
    ),
    Program(
        "a method that clears turns, called until the tokens fit and not until nothing waits",
        "token_window",
        "core/am.py",
        """
class Worker:
    def prepare(self, limit):
        while self.count_tokens(self.said) > limit:
            self.clear_history(1, 2)
        return self.said
""",
        """
class Worker:
    def prepare(self, limit):
        while self.waiting():
            self.clear_history(1, 2)
        return self.said
""",
    ),
    Program(
        "messages gathered while they fit, not the input of a summary up to a place that was found",
        "token_window",
        "core/ad.ts",
        """
export function fitted(entries: Entry[], budgetTokens: number) {
  const messages: Message[] = [];
  let total = 0;
  for (let i = entries.length - 1; i >= 0; i--) {
    const tokens = countTokens(entries[i]);
    if (total + tokens > budgetTokens) break;
    messages.unshift(entries[i]);
    total += tokens;
  }
  return messages;
}
""",
        """
export function prepared(entries: Entry[], settings: Settings) {
  const cut = findCut(entries, settings.keepTokens);
  const messages: Message[] = [];
  for (let i = cut.first; i < cut.last; i++) {
    const message = entries[i].message;
    if (message) messages.push(message);
  }
  return { messages, cut };
}
""",
    ),
)
