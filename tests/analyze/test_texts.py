"""What becomes of a text decides: cut to a size, taken apart, written elsewhere."""

from __future__ import annotations

from pathlib import Path

from .reading import analyzed, proposed


def proposed_mechanisms(root: Path, name: str, source: str) -> list[tuple[str, str]]:
    """Strategy and symbol of each finding of a program."""
    return [(f.strategy, f.symbol) for f in proposed(analyzed(root, {name: source}))]


def test_a_prefix_taken_off_is_no_shorter_content(tmp_path: Path) -> None:
    source = """
export function bare(messages: Message[], limit: number): Message[] {
  return messages.map((message) => ({ ...message, content: message.content.substring(message.name.length + 2) }));
}
export const used = bare;
"""
    assert proposed_mechanisms(tmp_path, "chat/history.ts", source) == []
    cut = source.replace("substring(message.name.length + 2)", "substring(0, limit)")
    assert proposed_mechanisms(tmp_path, "chat/history.ts", cut) == [("content_elision", "bare")]


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
    assert proposed_mechanisms(tmp_path, "chat/history.py", source) == []
    cut = source.replace('message.content.find("<note>")', "limit // 2")
    assert proposed_mechanisms(tmp_path, "chat/history.py", cut) == [("content_elision", "untagged")]


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
    assert proposed_mechanisms(tmp_path, "chat/history.ts", OFFLOAD) == [("offload", "masking.process.save")]


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
    assert proposed_mechanisms(tmp_path, "chat/history.py", source) == [("offload", "lighter")]


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
    assert "offload" not in [s for s, _ in proposed_mechanisms(tmp_path, "chat/tool_result.py", source)]


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
    assert proposed_mechanisms(tmp_path, "chat/history.py", source) == [("content_elision", "fit")]


def test_a_copy_made_for_the_log_leaves_the_message_whole(tmp_path: Path) -> None:
    source = """
import copy


def seen(message, limit):
    shown = copy.deepcopy(message)
    if len(shown.content) > limit:
        shown.content = shown.content[:limit]
    log(str(shown))


used = seen
"""
    assert proposed_mechanisms(tmp_path, "chat/history.py", source) == []
    returned = source.replace("    log(str(shown))", "    return shown")
    assert proposed_mechanisms(tmp_path, "chat/history.py", returned) == [("content_elision", "seen")]


def test_a_text_split_into_pieces_is_whole(tmp_path: Path) -> None:
    source = """
def fit(messages, limit):
    kept = []
    for message in messages:
        if len(message["content"]) > limit:
            for piece in pieces(message["content"], limit):
                kept.append({**message, "content": piece})
    return kept


def pieces(text, limit):
    return [text[at : at + limit] for at in range(0, len(text), limit)]


used = fit
"""
    assert proposed_mechanisms(tmp_path, "chat/history.py", source) == []


def test_a_text_begun_with_a_tag_stands_for_nothing(tmp_path: Path) -> None:
    source = """
def turn(content, tools):
    result = "<start_of_turn>"
    for tool in tools:
        result += render(tool)
    return result


used = turn
"""
    assert proposed_mechanisms(tmp_path, "chat/history.py", source) == []
    masked = """
def run(tool, mask):
    if mask:
        result = "[the output is masked]"
    else:
        result = tool()
    return result


used = run
"""
    assert proposed_mechanisms(tmp_path, "chat/history.py", masked) == [("content_elision", "run")]


def test_a_field_of_the_message_itself_is_no_notice(tmp_path: Path) -> None:
    source = """
def converted(messages):
    content = []
    for message in messages:
        content.append(Block(data=message.redacted_thinking))
        content.append(message)
    return content


used = converted
"""
    assert proposed_mechanisms(tmp_path, "chat/history.py", source) == []


def test_a_record_cut_behind_a_notice_is_shorter_content(tmp_path: Path) -> None:
    source = """
from typing import Any


class Trimmer:
    def one(self, item: dict[str, Any]) -> dict[str, Any]:
        output = str(item.get("output"))
        if len(output) <= self.limit:
            return item
        head = output[: self.shown]
        note = f"[{len(output)} characters]\\n{head}"
        short = dict(item)
        short["output"] = note
        return short


used = Trimmer().one
"""
    assert proposed_mechanisms(tmp_path, "chat/history.py", source) == [("content_elision", "Trimmer.one")]


def test_a_copy_on_disk_that_is_an_option_leaves_an_elision(tmp_path: Path) -> None:
    source = """
def truncate_result(result, limit, folder):
    if len(result) <= limit:
        return result
    short = result[:limit]
    place = ""
    if folder is not None:
        path = folder.joinpath("result")
        path.write_text(result)
        place = f" Full output saved to: {path}"
    notice = f"[truncated]{place}"
    return notice + short


used = truncate_result
"""
    assert proposed_mechanisms(tmp_path, "chat/history.py", source) == [("content_elision", "truncate_result")]
    always = source.replace("    if folder is not None:\n", "    if len(result) > limit:\n")
    saved = always.replace("    short = result[:limit]\n", "").replace("notice + short", "notice + result[:limit]")
    assert proposed_mechanisms(tmp_path, "chat/history.py", saved) == [("offload", "truncate_result")]


def test_masking_and_truncating_below_each_other_are_two_mechanisms(tmp_path: Path) -> None:
    source = """
def run(tool, mask, limit):
    result = tool()
    if mask:
        result = "[the output is masked]"
    return truncate_result(result, limit)


def truncate_result(result, limit):
    if len(result) <= limit:
        return result
    return result[:limit] + "... [truncated]"


used = run
"""
    assert proposed_mechanisms(tmp_path, "chat/history.py", source) == [
        ("content_elision", "run"),
        ("content_elision", "truncate_result"),
    ]


def test_content_put_whole_into_a_block_is_whole(tmp_path: Path) -> None:
    source = """
def blocks(messages, limit):
    for message in messages:
        message.content = [Text(text=message.content)]
        message = short(message, limit)
    return messages


def short(message, limit):
    if len(message) > limit:
        return message[:limit]
    return message


used = blocks
"""
    assert proposed_mechanisms(tmp_path, "chat/history.py", source) == []
