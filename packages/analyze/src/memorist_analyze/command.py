"""Implements `memorist analyze`, which reports how agent frameworks manage memory, based on their source code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorist.cli.display import bar

if TYPE_CHECKING:
    from memorist_analyze.analysis import Analysis
    from memorist_analyze.findings import Finding

_ENDINGS = {"markdown": "md", "json": "json", "html": "html"}
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("analyze")
@click.argument("paths", nargs=-1, metavar="PATH...", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "form", flag_value="json", help="Print JSON.")
@click.option("--markdown", "form", flag_value="markdown", help="Print Markdown (the default).")
@click.option("--html", "form", flag_value="html", help="Print a self-contained HTML page.")
@click.option("--output", type=_FOLDER, help="Write reports into this folder.")
@click.option("--keep", is_flag=True, help="Store the reports in the memory, for the inspector.")
@click.option("--compare", is_flag=True, help="Add a matrix of all frameworks.")
@click.option("--fail-on", "fail_on", multiple=True, metavar="RULE", help="Exit with 1 if the rule fails. Repeatable.")
@click.option("--list-rules", is_flag=True, help="List the rules that --fail-on accepts, and the eviction rules.")
@click.option("--explain", metavar="FINDING", help="Show the slice of code behind a finding or a possible one.")
@click.option(
    "--time-limit", type=float, default=300.0, show_default=True, help="The maximum number of seconds for one checkout."
)
@click.option("--model", help="Let a language model judge the candidates: anthropic:ID, openai:ID or openai:ID@URL.")
@click.option("--yes", is_flag=True, help="Do not ask before --model spends tokens.")
@click.option("--evidence", type=_FOLDER, help="Write the questions for a judge into this folder.")
def command(
    paths: tuple[Path, ...],
    form: str | None,
    output: Path | None,
    keep: bool,
    compare: bool,
    fail_on: tuple[str, ...],
    list_rules: bool,
    explain: str | None,
    time_limit: float,
    model: str | None,
    yes: bool,
    evidence: Path | None,
) -> None:
    """Report how the agent frameworks in PATH... manage memory.

    The command reads Python and TypeScript source code. It does not run the code, and needs no model. With --model, it
    shows the cost, and then a language model judges each candidate. Exits with 0 on success, 1 if a --fail-on rule
    fails, and 2 on wrong usage.
    """
    from memorist.errors import MemoristError

    # `memorist --json analyze …` means the same as `memorist analyze … --json`.
    if form is None and getattr(click.get_current_context().obj, "as_json", False):
        form = "json"
    try:
        if list_rules:
            click.echo(_rules())
            return
        _check_rules(fail_on)
        if not paths:
            raise click.UsageError("give at least one PATH")
        analyses = _analyze(paths, time_limit)
        if model is not None:
            analyses = _judge(analyses, model, yes)
        if evidence is not None:
            _write_requests(analyses, evidence)
        if keep:
            _keep(analyses)
        if explain is not None:
            click.echo(_explain(analyses, explain))
        elif output is not None:
            _write(analyses, output, form, compare)
        else:
            click.echo(_render(analyses, form or "markdown", compare), nl=False)
        _fail(analyses, fail_on)
    except MemoristError as error:
        raise click.UsageError(str(error)) from error


def _keep(analyses: list[Analysis]) -> None:
    """Store the reports in the memory named by --url, where the inspector shows them."""
    from memorist_analyze.report import as_dict

    with click.get_current_context().obj.memory(create=True) as memory:
        for analysis in analyses:
            memory.records.put("global", ("analysis", analysis.name), as_dict(analysis))


def _check_rules(fail_on: tuple[str, ...]) -> None:
    from memorist_analyze.checks import CHECKS

    names = [c.id for c in CHECKS]
    unknown = [rule for rule in fail_on if rule not in names]
    if unknown:
        raise click.UsageError(f"there is no rule {', '.join(unknown)}; use one of: {', '.join(names)}")


def _rules() -> str:
    from memorist_analyze.checks import CHECKS
    from memorist_analyze.rules import LOOSE_IDS, RULES

    lines = ["Rules for --fail-on:"]
    lines += [f"  {c.id:24} fails unless {c.says}" for c in CHECKS]
    lines += ["", "Eviction rules:"]
    lines += [f"  {r.id:24} {r.strategy}: {r.says}" for r in RULES if r.id not in LOOSE_IDS]
    return "\n".join(lines)


def _analyze(paths: tuple[Path, ...], time_limit: float) -> list[Analysis]:
    from memorist_analyze.analysis import analyze

    analyses: list[Analysis] = []
    names: dict[str, int] = {}
    for path in paths:
        name = path.resolve().name
        names[name] = names.get(name, 0) + 1
        label = name if names[name] == 1 else f"{name}-{names[name]}"
        with bar(label) as progress:
            analyses.append(analyze(path, name=label, time_limit=time_limit, progress=progress))
    return analyses


def _render(analyses: list[Analysis], form: str, compare: bool) -> str:
    from memorist_analyze import matrix
    from memorist_analyze.html import as_html
    from memorist_analyze.markdown import as_markdown
    from memorist_analyze.report import as_json

    if form == "json":
        return as_json(analyses, compare=compare)
    if form == "html":
        return as_html(analyses, compare=compare)
    parts = [as_markdown(a) for a in analyses]
    if compare:
        parts.append(matrix.as_markdown(analyses))
    return "\n".join(parts)


def _write(analyses: list[Analysis], output: Path, form: str | None, compare: bool) -> None:
    from memorist_analyze import matrix

    output.mkdir(parents=True, exist_ok=True)
    for kind in [form] if form else _ENDINGS:
        for analysis in analyses:
            _save(output / f"{analysis.name}.{_ENDINGS[kind]}", _render([analysis], kind, False))
        if compare:
            text = matrix.as_markdown(analyses) if kind == "markdown" else _render(analyses, kind, True)
            _save(output / f"matrix.{_ENDINGS[kind]}", text)


def _save(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
    click.echo(f"wrote {path}", err=True)


def _explain(analyses: list[Analysis], query: str) -> str:
    """Return the slice of the finding with this id, or of the only one whose id or symbol contains the text."""
    from memorist.errors import NotFound
    from memorist_analyze.markdown import slice_lines

    every: list[Finding] = [f for a in analyses for f in (*a.eviction, *a.possible, *a.unwired, *a.denied)]
    exact = [f for f in every if f.id == query]
    near = exact or [f for f in every if query in f.id or query in f.symbol or query == f.rule]
    if len(near) != 1:
        names = ", ".join(f.id for f in near or every) or "none"
        raise NotFound(f"{len(near)} findings match {query!r}; give one id: {names}", finding=query)
    return "\n".join([f"{near[0].strategy}, probability {near[0].probability:.2f}", *slice_lines(near[0])])


def _judge(analyses: list[Analysis], spec: str, yes: bool) -> list[Analysis]:
    from memorist.models import open_model
    from memorist.runtime import run_blocking
    from memorist_analyze.cache import JsonCache, cache_folder
    from memorist_analyze.judge import ANSWER_TOKENS, cost_of, judge, requests

    model = open_model(spec, blocking=True)
    cache = JsonCache(cache_folder())

    def ask(prompt: str, system: str, schema: dict[str, Any]) -> Any:
        messages = [{"role": "user", "content": prompt}]
        return run_blocking(model.complete(messages, system=system, max_tokens=ANSWER_TOKENS, schema=schema)).data

    try:
        judged: list[Analysis] = []
        for analysis in analyses:
            cost = cost_of(requests(analysis), cache, model.name)
            click.echo(f"{analysis.name}: judging with {model.name} takes {cost}", err=True)
            if cost.requests and not yes and not click.confirm("Go on?", err=True):
                raise click.Abort
            with bar(f"{analysis.name}: judging") as progress:
                judged.append(judge(analysis, ask, cache, name=model.name, progress=progress))
        return judged
    finally:
        run_blocking(model.close())


def _write_requests(analyses: list[Analysis], folder: Path) -> None:
    from memorist_analyze.judge import write_requests

    for analysis in analyses:
        click.echo(f"wrote {write_requests(analysis, folder)}", err=True)


def _fail(analyses: list[Analysis], fail_on: tuple[str, ...]) -> None:
    from memorist_analyze.checks import CANNOT_TELL, failures, verdicts

    if not fail_on:
        return
    for analysis in analyses:
        for verdict in verdicts(analysis, fail_on):
            if verdict.status == CANNOT_TELL:
                click.echo(f"{analysis.name}: {verdict.rule}: cannot tell: {verdict.message}", err=True)
    failed = [(a.name, f) for a in analyses for f in failures(a, fail_on)]
    for name, failure in failed:
        where = f" at {failure.where}" if failure.where else ""
        click.echo(f"{name}: {failure.rule}: {failure.message}{where}", err=True)
    if failed:
        raise click.exceptions.Exit(1)
