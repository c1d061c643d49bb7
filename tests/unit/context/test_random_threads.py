"""Random threads with tools, images, thinking and compaction items; `python -m bench.random_threads` runs 50,000."""

from __future__ import annotations

import pytest

from bench.random_threads import check, thread


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_threads_have_no_orphans_fit_and_are_the_same_each_time(first: int) -> None:
    outcomes = [check(number) for number in range(first, first + 20)]
    assert [problems for problems in outcomes if problems not in ([], ["too big for its budget"])] == []
    assert outcomes.count([]) >= 15


def test_the_threads_hold_what_they_should() -> None:
    written = "".join(str(thread(number)[0]) for number in range(30))
    for kind in ("tool_use", "tool_calls", "function_call", "image_url", "thinking", "reasoning", "compaction"):
        assert f"'{kind}'" in written
