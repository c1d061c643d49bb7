"""The keys of one org, an operator's included, do nothing to the files of all orgs and see nothing of them."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from .running import Running, running


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "shared-by-all.db") as started:
        yield started


def client(server: Running, *roles: str) -> httpx.Client:
    key = server.key(org="acme", roles=roles)
    return httpx.Client(base_url=server.url, headers={"authorization": f"Bearer {key}"}, timeout=60)


def test_an_operator_of_one_org_cannot_scrub(server: Running) -> None:
    with client(server, "reader", "operator") as operator:
        answer = operator.post("/v1/scrub", json={})
    assert answer.status_code == 403
    assert "shared-by-all" not in answer.text


def test_an_operator_of_one_org_sees_no_files(server: Running) -> None:
    with client(server, "reader", "operator") as operator:
        report = operator.get("/v1/doctor")
        assert report.status_code == 200
        assert report.json()["details"] == {}
        assert operator.get("/v1/doctor", params={"deep": "true"}).status_code == 403
        overview = operator.post("/v1/inspect/overview", json={})
        assert overview.status_code == 200
        for text in (report.text, overview.text):
            assert "shared-by-all" not in text
            assert "bytes" not in text


def test_an_admin_looks_after_the_files(server: Running) -> None:
    with client(server, "admin") as admin:
        assert "shared-by-all" in admin.get("/v1/doctor").text
        assert admin.post("/v1/scrub", json={}).status_code == 200
