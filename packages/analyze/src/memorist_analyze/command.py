"""`memorist analyze`: reports how agent frameworks manage memory, from their source code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorist.cli.display import bar

if TYPE_CHECKING:
    from memorist_analyze.analysis import Analysis

_FORMATS = ("markdown", "json", "html")


@click.command("analyze")
@click.argument("paths", nargs=-1, metavar="PATH...", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "form", flag_value="json", help="Print JSON.")
@click.option("--markdown", "form", flag_value="markdown", help="Print Markdown (the default).")
@click.option("--html", "form", flag_value="html", help="Print a self-contained HTML page.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Write reports into this folder.")
@click.option("--keep", is_flag=True, help="Store the reports in the memory, for the inspector.")
@click.option("--compare", is_flag=True, help="Add a matrix of all frameworks.")
@click.option("--fail-on", "fail_on", multiple=True, metavar="RULE", help="Exit with 1 if the rule fails. Repeatable.")
@click.option("--list-rules", is_flag=True, help="List the rules that --fail-on knows, and the eviction rules.")
@click.option("--explain", metavar="FINDING", help="Show the path through the code that led to a finding.")
@click.option("--time-limit", type=float, default=300.0, show_default=True, help="The most seconds for one checkout.")
@click.option("--model", help="Let a language model judge the candidates: anthropic:ID, openai:ID or openai:ID@URL.")
@click.option(
    "--evidence", type=click.Path(file_okay=False, path_type=Path), help="Write the functions to judge into DIR."
)
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
    evidence: Path | None,
) -> None:
    """Report how the agent frameworks in PATH... manage memory.

    Reads Python and TypeScript source; runs none of it and needs no model. With --model a language model also judges
    the functions in question, and the report marks its findings. Exits with 0, with 1 if a --fail-on rule fails, and
    with 2 on wrong usage.
    """
    from memorist.errors import MemoristError

    # `memorist --json analyze …` means the same as `memorist analyze … --json`.
    if form is None and getattr(click.get_current_context().obj, "as_json", False):
        form = "json"
    try:
        if list_rules:
            click.echo(_rules())
            return
        _known(fail_on)
        if not paths:
            raise click.UsageError("give at least one PATH")
        if explain is not None and model is None and _explain_from_cache(paths, explain):
            return
        analyses = _analyze(paths, time_limit)
        _keep_explanations(analyses)
        if model is not None:
            analyses = [_judged(a, model) for a in analyses]
        if evidence is not None:
            _write_packs(analyses, evidence)
        if keep:
            _keep(analyses)
        if explain is not None:
            _explain(analyses, explain)
        elif output is not None:
            _write(analyses, output, form, compare)
        else:
            click.echo(_render(analyses, form or "markdown", compare), nl=False)
        _judge(analyses, fail_on)
    except MemoristError as error:
        raise click.UsageError(str(error)) from error


def _keep(analyses: list[Analysis]) -> None:
    """Store the reports in the memory of --url, where the inspector shows them."""
    from memorist_analyze.report import as_dict

    with click.get_current_context().obj.memory(create=True) as memory:
        for one in analyses:
            memory.records.put("global", ("analysis", one.name), as_dict(one))


def _known(fail_on: tuple[str, ...]) -> None:
    from memorist_analyze.checks import CHECKS

    known = [c.id for c in CHECKS]
    unknown = [rule for rule in fail_on if rule not in known]
    if unknown:
        raise click.UsageError(f"no rule {', '.join(unknown)}; there are: {', '.join(known)}")


def _rules() -> str:
    from memorist_analyze.checks import CHECKS
    from memorist_analyze.rules import RULES

    lines = ["Rules for --fail-on:"]
    lines += [f"  {c.id:24} fails unless {c.says}" for c in CHECKS]
    lines += ["", "Eviction rules:"]
    lines += [f"  {r.id:24} {r.strategy}: {r.says}" for r in RULES]
    return "\n".join(lines)


def _analyze(paths: tuple[Path, ...], time_limit: float) -> list[Analysis]:
    from memorist_analyze.analysis import analyze

    found: list[Analysis] = []
    names: dict[str, int] = {}
    for path in paths:
        name = path.resolve().name
        names[name] = names.get(name, 0) + 1
        label = name if names[name] == 1 else f"{name}-{names[name]}"
        with bar(label) as progress:
            found.append(analyze(path, name=label, time_limit=time_limit, progress=progress))
    return found


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
    endings = {"markdown": "md", "json": "json", "html": "html"}
    for one in [form] if form else _FORMATS:
        for analysis in analyses:
            _save(output / f"{analysis.name}.{endings[one]}", _render([analysis], one, False))
        if compare:
            text = matrix.as_markdown(analyses) if one == "markdown" else _render(analyses, one, True)
            _save(output / f"matrix.{endings[one]}", text)


def _save(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
    click.echo(f"wrote {path}", err=True)


def _explain(analyses: list[Analysis], wanted: str) -> None:
    from memorist.errors import NotFound
    from memorist_analyze.explain import explain, find

    missing: NotFound | None = None
    for analysis in analyses:
        try:
            finding = find(analysis, wanted)
        except NotFound as error:
            missing = error
            continue
        click.echo(explain(analysis, finding), nl=False)
        return
    if missing is not None:
        raise missing


def _judged(analysis: Analysis, spec: str) -> Analysis:
    from memorist.models import open_model
    from memorist.runtime import run_blocking
    from memorist_analyze.cache import JsonCache, cache_folder
    from memorist_analyze.judge import judge

    model = open_model(spec, blocking=True)

    def ask(prompt: str, system: str, schema: dict[str, Any]) -> Any:
        messages = [{"role": "user", "content": prompt}]
        return run_blocking(model.complete(messages, system=system, max_tokens=400, schema=schema)).data

    try:
        with bar(f"{analysis.name}: judging") as progress:
            return judge(analysis, ask, JsonCache(cache_folder()), name=model.name, progress=progress)
    finally:
        run_blocking(model.close())


def _write_packs(analyses: list[Analysis], folder: Path) -> None:
    from memorist_analyze.pack import write_pack

    for analysis in analyses:
        click.echo(f"wrote {write_pack(analysis, folder)}", err=True)


def _keep_explanations(analyses: list[Analysis]) -> None:
    """Cache the explanation of every finding, so that --explain need not analyse the code again."""
    from memorist_analyze.cache import JsonCache, cache_folder, fingerprint
    from memorist_analyze.explain import explanations

    kept = JsonCache(cache_folder())
    for analysis in analyses:
        key = str(analysis.checkout.root.resolve())
        kept.put("explained", key, {"of": fingerprint(analysis.checkout), "findings": explanations(analysis)})


def _explain_from_cache(paths: tuple[Path, ...], wanted: str) -> bool:
    """Print the cached explanation of a finding, if the folder was analysed before and has not changed since."""
    from memorist_analyze.cache import JsonCache, cache_folder, fingerprint
    from memorist_analyze.discover import discover

    kept = JsonCache(cache_folder())
    for path in paths:
        known = kept.get("explained", str(path.resolve()))
        if not known or known.get("of") != fingerprint(discover(path)):
            return False
        near = [f for f in known["findings"] if f["id"] == wanted] or [
            f for f in known["findings"] if wanted in f["id"] or wanted in f["symbol"] or wanted == f["rule"]
        ]
        if len(near) == 1:
            click.echo(near[0]["text"], nl=False)
            return True
    return False


def _judge(analyses: list[Analysis], fail_on: tuple[str, ...]) -> None:
    from memorist_analyze.checks import CANNOT_TELL, failures, verdicts

    for analysis in analyses if fail_on else ():
        for verdict in verdicts(analysis, fail_on):
            if verdict.status == CANNOT_TELL:
                click.echo(f"{analysis.name}: {verdict.rule}: cannot tell: {verdict.message}", err=True)
    failed = [(a.name, f) for a in analyses for f in failures(a, fail_on)] if fail_on else []
    for name, failure in failed:
        where = f" at {failure.where}" if failure.where else ""
        click.echo(f"{name}: {failure.rule}: {failure.message}{where}", err=True)
    if failed:
        raise click.exceptions.Exit(1)
