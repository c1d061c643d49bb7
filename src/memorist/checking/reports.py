"""Formats the results of cases for people, for programs and for CI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as xml

import msgspec

from ..values import JsonObject
from .cases import rerun_command
from .expectations import Failure
from .running import CaseResult


def result_lines(result: CaseResult) -> Iterator[str]:
    """Yield one result for people: one line if the case passed, otherwise what failed, where the text was lost and how
    to reproduce it."""
    mark = {"passed": "ok", "failed": "FAIL", "error": "ERROR"}[result.status]
    yield f"{mark:<5} {result.file}: {result.name}"
    if result.error is not None:
        yield f"      {result.error}"
    for failure in result.failures:
        yield from (f"      {line}" for line in failure_lines(failure))
    commands = reproduce_commands(result)
    if commands:
        yield "      reproduce:"
        yield from (f"        {command}" for command in commands)


def reproduce_commands(result: CaseResult) -> list[str]:
    """Return the commands that reproduce a case's failures, starting with the one that saves its store."""
    commands = list(dict.fromkeys(command for failure in result.failures for command in failure.reproduce))
    if any(".db" in command for command in commands):
        commands.insert(0, rerun_command(result.file, result.name, "keep", "."))
    return commands


def failure_lines(failure: Failure) -> Iterator[str]:
    """Yield one failed expectation, the stage that lost the text, and the parts that contradict it."""
    yield failure.expectation
    yield f"  {failure.stage}: {failure.message}" if failure.stage else f"  {failure.message}"
    yield from (f"    {part}" for part in failure.parts)


def summary_line(results: Sequence[CaseResult]) -> str:
    """Return a line stating how many cases passed."""
    counts = {status: sum(result.status == status for result in results) for status in ("passed", "failed", "error")}
    seconds = sum(result.seconds for result in results)
    return ", ".join(f"{count} {status}" for status, count in counts.items() if count) + f" in {seconds:.1f} s"


def as_json(results: Sequence[CaseResult]) -> JsonObject:
    """Return the results for programs."""
    counts = {status: sum(result.status == status for result in results) for status in ("passed", "failed", "error")}
    cases = [{**msgspec.to_builtins(result), "reproduce": reproduce_commands(result)} for result in results]
    return {**counts, "cases": cases}


def junit(results: Sequence[CaseResult]) -> str:
    """Return the results as JUnit XML, which CI systems show."""
    failed, errors = (sum(result.status == status for result in results) for status in ("failed", "error"))
    counts = {"tests": str(len(results)), "failures": str(failed), "errors": str(errors)}
    suites = xml.Element("testsuites", counts)
    suite = xml.SubElement(suites, "testsuite", {"name": "memorist test", **counts})
    for result in results:
        fields = {"classname": result.file, "name": result.name, "time": f"{result.seconds:.3f}"}
        case = xml.SubElement(suite, "testcase", fields)
        if result.status == "error":
            xml.SubElement(case, "error", {"message": _printable(result.error or "")})
        elif result.failures:
            first = result.failures[0]
            message = f"{first.expectation}: {first.stage or first.message}"
            failure = xml.SubElement(case, "failure", {"message": _printable(message)})
            failure.text = _printable("\n".join(result_lines(result)))
    return xml.tostring(suites, encoding="unicode", xml_declaration=True)


def _printable(text: str) -> str:
    """Return a text without the control characters that XML does not allow."""
    return "".join(character for character in text if character >= " " or character in "\n\t")
