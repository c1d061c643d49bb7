"""Implements `memorist test` and `memorist eval`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from .display import cell, echo
from .session import Session, session_of

if TYPE_CHECKING:
    from ..checking.cases import Case
    from ..checking.reading import CaseFile


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("-k", "--only", metavar="TEXT", help="Run only cases whose name contains this text.")
@click.option("--update", is_flag=True, help="Record new snapshots for the cases that have one.")
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path), help="Also write the results as JUnit XML.")
@click.option(
    "--keep", metavar="FOLDER", type=click.Path(path_type=Path), help="Keep the store of each case in this folder."
)
@click.option("--record", metavar="MODEL", help="Ask this model and record its answers, for cases with `answers`.")
@click.option("--mutate", is_flag=True, help="Change each memory in turn and report which cases fail.")
@session_of
def test(
    session: Session,
    paths: tuple[Path, ...],
    only: str | None,
    update: bool,
    junit: Path | None,
    keep: Path | None,
    record: str | None,
    mutate: bool,
) -> int:
    """Test what the memory sends. PATHS are case files (*.memory.yaml, .json or .py), or folders that contain them.

    Exits with 0 if all cases pass, 1 if a case fails and 2 if a file is invalid.

    \b
    A case stores a conversation, asks a question and checks the next request:
      cases:
        - name: after a move only the new city is current
          user: ada
          conversation: [I live in Lisbon., I moved to Porto.]
          ask: Where do I live?
          expect:
            - newest: {location: Porto}

    \b
    What a case can expect:
      contains: TEXT                       the request contains the text
      not_contains: TEXT                   it does not
      newest: {KEY: VALUE}                 this is the fact's current value
      source: {of: TEXT, message: TEXT}    the text comes from this message
      tokens: 400                          the request has at most this many
      sections: [profile, memory]          it has these sections
      nothing_about: NAME                  it does not mention the name
      sees_nothing_of: USER                it contains nothing from this user

    docs/testing-memory.md describes them, the other fields of a case, and the pytest plugin.
    """
    from ..checking import reports
    from ..checking.running import Options, run_case
    from ..models import open_model

    chosen = _choose(paths, only)
    if mutate:
        return _mutate(session, chosen)
    live = None if record is None else open_model(record, blocking=True)
    options = Options(update=update, keep=keep, live=live)
    results = []
    for file, case in chosen:
        results.append(run_case(case, fixtures=file.fixtures, options=options))
        if not session.as_json:
            for line in reports.result_lines(results[-1]):
                echo(cell(line))
    if junit is not None:
        junit.parent.mkdir(parents=True, exist_ok=True)
        junit.write_text(reports.junit(results), "utf-8")
    if session.as_json:
        session.print_json(reports.as_json(results))
    else:
        echo(reports.summary_line(results))
    return 0 if all(result.status == "passed" for result in results) else 1


def _choose(paths: tuple[Path, ...], only: str | None) -> list[tuple[CaseFile, Case]]:
    """Return the cases in the files whose names contain a given text."""
    from ..checking.reading import find_files, read_cases

    files = [read_cases(path) for path in find_files(paths or (Path("."),))]
    cases = [(file, case) for file in files for case in file.cases]
    chosen = [(file, case) for file, case in cases if only is None or only in case.name]
    if cases and not chosen:
        there_are = "there is 1 case" if len(cases) == 1 else f"there are {len(cases)} cases"
        raise UsageError(f"no case has a name that contains {only!r}; {there_are}")
    if not chosen:
        raise UsageError("there are no cases here; write some in a file such as moving.memory.yaml")
    return chosen


def _mutate(session: Session, chosen: list[tuple[CaseFile, Case]]) -> int:
    """Report which memories no case depends on, and which cases cannot fail."""
    from ..checking.mutating import mutate, report_lines

    report = mutate([(case, file.fixtures) for file, case in chosen])
    session.report(report, report_lines(report))
    return 0 if not report.untested and not report.toothless and not report.broken else 1


@click.command()
@click.argument("questions", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--budget", "budgets", type=int, multiple=True, help="The token budget of a request. Repeatable.")
@click.option("--save", metavar="FILE", type=click.Path(path_type=Path), help="Save the result for a later --against.")
@click.option(
    "--against",
    metavar="FILE",
    type=click.Path(exists=True, path_type=Path),
    help="Compare with a result that --save wrote.",
)
@click.option(
    "--tolerance",
    type=float,
    default=0.0,
    show_default=True,
    help="How many percentage points of evidence may be lost.",
)
@click.option(
    "--sample", type=float, default=1.0, show_default=True, help="The share of a public dataset's questions to ask."
)
@session_of
def eval(
    session: Session,
    questions: Path,
    budgets: tuple[int, ...],
    save: Path | None,
    against: Path | None,
    tolerance: float,
    sample: float,
) -> int:
    """Measure how much of the evidence for known questions is sent to the model, by budget and category.

    QUESTIONS is a file of JSON lines about the memory named by --url ({"question": …, "evidence": […], "category": …,
    "user": …}), or the JSON file of a public set: LoCoMo, LongMemEval, or the neutral format. The exit status is 1 if
    less evidence is sent than before.
    """
    import msgspec

    from ..checking import evaluating

    before = None if against is None else evaluating.read_evaluation(against)
    limits = budgets or evaluating.BUDGETS
    if questions.suffix == ".json":
        after = evaluating.evaluate(questions.stem, evaluating.ask_set(questions, sample=sample), limits)
    else:
        with session.memory(settle=True) as memory:
            after = evaluating.evaluate(questions.stem, evaluating.ask_lines(memory, questions), limits)
    if not after.measures:
        raise UsageError(
            f"{questions.name} has no questions"
            if sample >= 1
            else f"the sample contains none of the questions in {questions.name}; pass a larger --sample"
        )
    if save is not None:
        save.parent.mkdir(parents=True, exist_ok=True)
        save.write_bytes(msgspec.json.encode(after))
    worse = [] if before is None else evaluating.worse_questions(before, after)
    if session.as_json:
        ids = [
            {"id": now.id, "budget": now.budget, "before": then.evidence, "after": now.evidence} for then, now in worse
        ]
        session.print_json({"name": after.name, "rows": after.rows, "worse": ids})
    else:
        for line in evaluating.report_lines(after, before):
            echo(cell(line))
        for then, now in worse:
            shares = " to ".join(f"{100 * (measure.evidence or 0):.0f} %" for measure in (then, now))
            echo(cell(f"less evidence for question {now.id} at {now.budget} tokens: {shares}"))
    return 1 if before is not None and _fell(before, after, tolerance) else 0


def _fell(before: Any, after: Any, tolerance: float) -> bool:
    """Return whether the share of evidence over all questions fell by more than the given number of points at any
    budget."""
    earlier = {row.budget: row.evidence for row in before.rows if row.category == "ALL"}
    rows = [row for row in after.rows if row.category == "ALL" and earlier.get(row.budget) is not None]
    return any(100 * (earlier[row.budget] - (row.evidence or 0.0)) > tolerance for row in rows)
