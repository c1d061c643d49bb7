"""What becomes of a text decides: cut to a size, taken apart, written elsewhere."""

from __future__ import annotations

from pathlib import Path

from .reading import analyzed


def told(root: Path, name: str, source: str) -> list[tuple[str, str]]:
    """Strategy and symbol of each finding of a program."""
    return [(f.strategy, f.symbol) for f in analyzed(root, {name: source}).eviction]


def test_a_prefix_taken_off_is_no_shorter_content(tmp_path: Path) -> None:
    source = """
export function bare(messages: Message[], limit: number): Message[] {
  return messages.map((message) => ({ ...message, content: message.content.substring(message.name.length + 2) }));
}
export const used = bare;
"""
    assert told(tmp_path, "chat/history.ts", source) == []
    cut = source.replace("substring(message.name.length + 2)", "substring(0, limit)")
    assert told(tmp_path, "chat/history.ts", cut) == [("content_elision", "bare")]


def test_a_text_taken_apart_at_a_pattern_is_no_shorter_content(tmp_path: Path) -> None:
    source = """
def untagged(messages, limit):
    for message in messages:
        if len(message.content) > limit:
            start = message.content.find("<note>")
            message.content = message.content[:start]
    return messages


used = untagged
"""
    assert told(tmp_path, "chat/history.py", source) == []
    cut = source.replace('message.content.find("<note>")', "limit // 2")
    assert told(tmp_path, "chat/history.py", cut) == [("content_elision", "untagged")]


OFFLOAD = """
export function masking(env: Env) {
  const process = async (messages: Message[]) => {
    const save = async (content: string): Promise<string> => {
      const filePath = env.path();
      await fs.writeFile(filePath, content);
      return `[output masked, full text saved to: ${filePath}]`;
    };
    const shorter = async (content: string): Promise<string> => {
      if (content.length > env.limitChars) {
        return await save(content);
      }
      return content;
    };
    const kept = [];
    for (const message of messages) {
      const masked = await shorter(message.content);
      kept.push({ ...message, content: masked });
    }
    return kept;
  };
  return process;
}
export const used = masking;
"""


def test_a_nested_helper_that_writes_what_is_too_large_is_an_offload_and_no_elision_beside_it(tmp_path: Path) -> None:
    assert told(tmp_path, "chat/history.ts", OFFLOAD) == [("offload", "masking.process.save")]


def test_a_note_that_names_the_file_tells_an_offload_without_a_size(tmp_path: Path) -> None:
    source = """
def lighter(messages):
    kept = []
    for message in messages:
        path = folder.joinpath(message.id)
        text = ""
        if message.image:
            disk.write_bytes(path, message.image)
            text = f"[image saved to: {path}]"
        if text:
            kept.append({**message, "content": text})
        else:
            kept.append(message)
    return kept


used = lighter
"""
    assert told(tmp_path, "chat/history.py", source) == [("offload", "lighter")]


def test_a_set_that_grows_is_no_store_of_texts(tmp_path: Path) -> None:
    source = """
def include(content, files, limit):
    shown = content
    for found in imports(content):
        if len(content) > limit:
            files.add(found)
            shown = content[:limit] + "..."
    return shown


used = include
"""
    assert "offload" not in [s for s, _ in told(tmp_path, "chat/tool_result.py", source)]


def test_a_helper_two_calls_below_an_elision_is_not_reported_beside_it(tmp_path: Path) -> None:
    source = """
def fit(messages, limit):
    for message in messages:
        if len(message.content) > limit:
            message.content = one(message.content, limit)
    return messages


def one(content, limit):
    return truncate_content(content, limit)


def truncate_content(content, limit):
    if len(content) <= limit:
        return content
    return content[:limit] + "... [truncated]"


used = fit
"""
    assert told(tmp_path, "chat/history.py", source) == [("content_elision", "fit")]
