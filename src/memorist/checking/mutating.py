"""Mutates memories to find out which cases notice that a memory is missing, old, duplicated, contradicted or leaked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from ..values import JsonMapping
from .cases import BETWEEN_MESSAGES, Case, Piece
from .request import shorten
from .running import Options, run_case
from .store_changes import AGE, OTHER_VALUE, contradict, store_changes

Material = list[Piece]


class Mutant(msgspec.Struct, frozen=True):
    """Describes one change to the data of a case, and whether the case noticed it."""

    case: str
    file: str
    memory: str
    """This is the changed piece."""
    change: str
    """This is `left out`, `aged`, `duplicated`, `contradicted` or `leaked`."""
    noticed: bool


class MutationReport(msgspec.Struct, frozen=True):
    """Reports what the mutations revealed about the cases."""

    mutants: tuple[Mutant, ...]
    untested: tuple[tuple[str, str], ...]
    """No case noticed any change to these memories. They are listed with their file."""
    toothless: tuple[tuple[str, str], ...]
    """These cases passed despite every change. They are listed with their file."""
    broken: tuple[tuple[str, str], ...] = ()
    """These cases fail without any change, so they were not mutated."""


def mutate(cases: Sequence[tuple[Case, JsonMapping]]) -> MutationReport:
    """Run each case once for every change to one of its memories."""
    mutants: list[Mutant] = []
    broken: list[tuple[str, str]] = []
    for case, fixtures in cases:
        if any(case.expectations()):
            # A recorded request notices every change, so it would say nothing about the expectations.
            case = msgspec.structs.replace(case, snapshot=False)
        pieces = case.pieces(fixtures)
        if run_case(case, pieces=pieces).status != "passed":
            broken.append((case.file, case.name))
            continue
        for text, change, material, options in _changes(case, pieces):
            noticed = run_case(case, pieces=material, options=options).status != "passed"
            mutants.append(Mutant(case.name, case.file, text, change, noticed))
    return MutationReport(tuple(mutants), _untested(mutants), _toothless(mutants), tuple(broken))


def report_lines(report: MutationReport) -> Iterator[str]:
    """Yield the report for people."""
    for change in dict.fromkeys(mutant.change for mutant in report.mutants):
        mutants = [mutant for mutant in report.mutants if mutant.change == change]
        yield f"{change:<12} {sum(mutant.noticed for mutant in mutants)} of {len(mutants)} noticed"
    for title, rows in (
        ("fails without any change", report.broken),
        ("no case depends on", report.untested),
        ("cannot fail", report.toothless),
    ):
        yield from (f"{title}: {file}: {shorten(text)}" for file, text in rows)
    if not (report.broken or report.untested or report.toothless):
        yield "every memory affects a case, and every case can fail"


def _changes(case: Case, pieces: Material) -> Iterator[tuple[str, str, Material, Options]]:
    """Yield each change to a case: the changed piece, the kind of change, and the pieces to run."""
    for piece, change, material in _mutations(pieces):
        yield str(piece), change, material, Options()
    for piece in (piece for piece in pieces if piece.user != case.user):
        yield str(piece), "leaked", pieces, Options(read=(f"user:{piece.user}",))
    if case.store is not None:
        for text, change, apply in store_changes(case):
            yield text, change, pieces, Options(change=apply)


def _mutations(pieces: Material) -> Iterator[tuple[Piece, str, Material]]:
    """Yield each change to anything that a user said or a program stored. The assistant's answers are not changed."""
    changes: dict[str, Callable[[Material, int], Material]] = {
        "left out": _leave_out,
        "aged": _age,
        "duplicated": _duplicate,
        "contradicted": _contradict,
    }
    for index, piece in enumerate(pieces):
        if piece.role != "user":
            continue
        for name, change in changes.items():
            yield piece, name, change(pieces, index)


def _leave_out(pieces: Material, index: int) -> Material:
    return pieces[:index] + pieces[index + 1 :]


def _age(pieces: Material, index: int) -> Material:
    """Move the piece back ten years, before everything else."""
    aged = msgspec.structs.replace(pieces[index], at=pieces[index].at - AGE)
    if aged.thread:
        # A message of an earlier time in the midst of a thread would be no earlier conversation.
        aged = msgspec.structs.replace(aged, thread=f"{aged.thread}-aged")
    return [aged, *_leave_out(pieces, index)]


def _duplicate(pieces: Material, index: int) -> Material:
    return [*pieces, _later(pieces, pieces[index])]


def _contradict(pieces: Material, index: int) -> Material:
    """Add the opposite statement at the end."""
    piece = pieces[index]
    if piece.kind == "fact":
        return [*pieces, _later(pieces, msgspec.structs.replace(piece, value=OTHER_VALUE))]
    return [*pieces, _later(pieces, msgspec.structs.replace(piece, text=contradict(piece.text, piece.at)))]


def _later(pieces: Material, piece: Piece) -> Piece:
    return msgspec.structs.replace(piece, at=max(other.at for other in pieces) + BETWEEN_MESSAGES)


def _untested(mutants: Sequence[Mutant]) -> tuple[tuple[str, str], ...]:
    """Return the memories for which no case in their file noticed any change."""
    noticed = {(mutant.file, mutant.memory) for mutant in mutants if mutant.noticed}
    memories = dict.fromkeys((mutant.file, mutant.memory) for mutant in mutants)
    return tuple(memory for memory in memories if memory not in noticed)


def _toothless(mutants: Sequence[Mutant]) -> tuple[tuple[str, str], ...]:
    noticing = {(mutant.file, mutant.case) for mutant in mutants if mutant.noticed}
    cases = dict.fromkeys((mutant.file, mutant.case) for mutant in mutants)
    return tuple(case for case in cases if case not in noticing)
