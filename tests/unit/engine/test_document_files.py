"""Documents from files, written by other programs' libraries: headings and pages reach the chunks."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import docx
import pytest
from fpdf import FPDF
from pypdf import PdfReader, PdfWriter

from memorist import Memory
from memorist.engine.documents.files import detect_format, read_document
from memorist.errors import InvalidValue, Unsupported

HTML = """<!doctype html><html><head><title>Handbook</title><style>p { color: red }</style></head><body>
<h1>Handbook</h1><p>Welcome to the company.</p><h2>Refunds</h2><p>Refunds within 30 days.</p>
<table><tr><th>Plan</th><th>Price</th></tr><tr><td>Basic</td><td>9 EUR</td></tr></table>
<script>alert("x")</script></body></html>"""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", worker=False, embedder=None, counter="estimate") as memory:
        yield memory


def make_pdf() -> bytes:
    pdf = FPDF()
    pdf.set_title("Handbook")
    pdf.set_font("Helvetica", size=12)
    for title, words in (("Welcome", "We are glad that you are here."), ("Refunds", "Refunds within 30 days.")):
        pdf.add_page()
        pdf.start_section(title)
        pdf.multi_cell(0, text=title)
        pdf.ln()
        pdf.multi_cell(0, text=words)
    return bytes(pdf.output())


def make_docx() -> bytes:
    document = docx.Document()
    document.add_heading("Handbook", 1)
    document.add_paragraph("Welcome to the company.")
    document.add_heading("Refunds", 2)
    document.add_paragraph("Refunds within 30 days.")
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def chunks(memory: Memory, source: bytes | Path) -> list[tuple[str | None, int | None, str]]:
    document = memory.documents.add("global", source)
    return [(chunk.heading, chunk.page, chunk.text) for chunk in memory.documents.chunks("global", document.id)]


def test_html_keeps_its_headings_and_tables_and_no_scripts(memory: Memory) -> None:
    welcome, refunds = chunks(memory, HTML.encode())
    assert welcome[0] == "Handbook"
    assert refunds[0] == "Handbook > Refunds"
    assert "| Basic | 9 EUR |" in refunds[2]
    assert "alert" not in refunds[2] and "color" not in welcome[2]


def test_word_keeps_its_headings(memory: Memory) -> None:
    assert chunks(memory, make_docx()) == [
        ("Handbook", None, "# Handbook\n\nWelcome to the company."),
        ("Handbook > Refunds", None, "## Refunds\n\nRefunds within 30 days."),
    ]


def test_pdf_keeps_its_pages_and_the_headings_of_its_outline(memory: Memory) -> None:
    assert [(heading, page) for heading, page, _ in chunks(memory, make_pdf())] == [("Welcome", 1), ("Refunds", 2)]


def test_short_pages_without_headings_are_cited_one_by_one(memory: Memory) -> None:
    pdf = FPDF()
    pdf.set_font("Helvetica", size=12)
    words = ("Welcome to the harbour.", "The crane lifts forty tonnes.", "Visitors wear orange vests.")
    for text in words:
        pdf.add_page()
        pdf.multi_cell(0, text=text)
    file = bytes(pdf.output())
    assert chunks(memory, file) == [(None, page, text) for page, text in enumerate(words, 1)]
    [hit, *_] = memory.recall("How much does the crane lift?", namespaces="global", kinds="document")
    assert hit.page == 2


def test_a_path_is_read_by_its_ending_and_is_the_source(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# Notes\n\nRefunds within 30 days.\n", "utf-8")
    document = memory.documents.add("global", path)
    assert (document.source, document.title) == (str(path), "notes.md")
    path.write_text("# Notes\n\nRefunds within 40 days.\n", "utf-8")
    again = memory.documents.add("global", path)
    assert (again.id, again.version) == (document.id, 2)
    assert [d.text for d in memory.documents.list("global")] == ["# Notes\n\nRefunds within 40 days.\n"]


def test_bytes_are_read_by_the_ending_of_their_source(memory: Memory) -> None:
    page = memory.documents.add(
        "global", b"<h1>Refunds</h1><p>Within 30 days.</p>", source="https://example.com/r.html"
    )
    assert page.text == "# Refunds\n\nWithin 30 days."


def test_the_title_is_the_files_own(memory: Memory) -> None:
    assert memory.documents.add("global", HTML.encode()).title == "Handbook"
    assert memory.documents.add("global", make_pdf()).title == "Handbook"


def test_a_hit_cites_heading_and_page(memory: Memory) -> None:
    memory.documents.add("global", make_pdf(), source="handbook.pdf")
    hit = memory.recall("refunds", namespaces="global")[0]
    assert (hit.source, hit.heading, hit.page) == ("handbook.pdf", "Refunds", 2)


def test_text_is_never_taken_for_a_path(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("words of the file", "utf-8")
    assert memory.documents.add("global", str(path)).text == str(path)


@pytest.mark.parametrize("cut", [100, 400, 900])
@pytest.mark.parametrize("make", [make_pdf, make_docx])
def test_a_damaged_file_is_refused_in_our_words(memory: Memory, make: object, cut: int) -> None:
    data = make()  # type: ignore[operator]
    with pytest.raises(InvalidValue):
        memory.documents.add("global", data[:cut])
    assert memory.documents.list("global") == []


def test_an_encrypted_pdf_is_refused(memory: Memory) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(make_pdf())))
    writer.encrypt("secret", algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    with pytest.raises(InvalidValue, match="encrypted"):
        memory.documents.add("global", file.getvalue())


@pytest.mark.parametrize("data", [b"\xff\xfe\x00binary", b"PK\x03\x04 nothing"])
def test_other_formats_are_refused(memory: Memory, data: bytes) -> None:
    with pytest.raises(InvalidValue):
        memory.documents.add("global", data)


def test_a_missing_file_is_refused(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"nowhere\.pdf"):
        memory.documents.add("global", tmp_path / "nowhere.pdf")


def test_a_missing_extra_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(Unsupported, match=r"\[documents\]"):
        read_document(make_pdf())


def test_formats_are_told_by_their_first_bytes() -> None:
    samples = (make_pdf(), make_docx(), HTML.encode(), b"# Notes", b"<b>bold</b> text")
    assert [detect_format(data) for data in samples] == ["pdf", "docx", "html", "text", "text"]
