"""What may be passed as a reranker, and what each gives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from memorist.embed.reranking import OpenReranker, checked, open_reranker
from memorist.errors import ModelError, UsageError

from . import tiny

TEXTS = ["the bank gave a loan", "my kitten", "nothing answers"]


def opened(spec: Any) -> OpenReranker:
    reranker = open_reranker(spec, blocking=True)
    assert reranker is not None
    return reranker


def test_a_cross_encoder_reads_both_texts(tmp_path: Path) -> None:
    reranker = opened(f"onnx:{tiny.cross_encoder(tmp_path / 'cross')}?time_limit=30")
    scores = reranker.call("where is my cat", TEXTS)
    assert max(range(3), key=scores.__getitem__) == 1
    assert reranker.call("money", TEXTS)[0] > reranker.call("money", TEXTS)[1]
    assert (reranker.name, reranker.time_limit) == ("onnx:cross", 30.0)


def test_an_encoder_of_sentences_is_no_cross_encoder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cross-encoder"):
        opened(f"onnx:{tiny.encoder(tmp_path / 'one')}").call("cat", TEXTS)


class Service(ThreadingHTTPServer):
    """Scores a text by the words it shares with the question, in the shape of one of the services."""

    def __init__(self, shape: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.shape = shape
        self.asked: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        key = "texts" if self.server.shape == "tei" else "documents"
        if key not in body:
            self._answer(422, {"error": "missing field"})
            return
        shared = [len(set(body["query"].split()) & set(text.split())) for text in body[key]]
        if self.server.shape == "tei":
            self._answer(200, [{"index": at, "score": float(n)} for at, n in enumerate(shared)][::-1])
        else:
            best = [{"index": at, "relevance_score": float(n)} for at, n in enumerate(shared) if n]
            self._answer(200, {"data" if self.server.shape == "voyage" else "results": best})

    def _answer(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@pytest.fixture(params=["cohere", "voyage", "tei"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    server = Service(request.param)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_services_are_spoken_to_in_the_shape_they_know(service: Service) -> None:
    reranker = opened(f"http://127.0.0.1:{service.server_port}/v1/rerank?time_limit=9#small")
    for _ in range(2):
        scores = reranker.call("my kitten", TEXTS)
        assert max(range(3), key=scores.__getitem__) == 1
    assert len(service.asked) == (3 if service.shape == "tei" else 2)
    assert service.asked[-1]["model"] == "small"
    assert reranker.time_limit == 9.0


def test_a_function_and_an_object_are_rerankers() -> None:
    class Lengths:
        name = "lengths"
        time_limit = 0.25

        def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
            return [float(len(text)) for text in texts]

    plain = opened(lambda query, texts: [1.0] * len(texts))
    assert plain.call("", TEXTS) == [1.0] * 3
    reranker = opened(Lengths())
    assert (reranker.name, reranker.time_limit, reranker.call("", ["abc"])) == ("lengths", 0.25, [3.0])


async def late(query: str, texts: Sequence[str]) -> list[float]:
    return [0.0] * len(texts)


@pytest.mark.parametrize("wrong", ["cohere:x", "onnx:", 7, late, "http://host/rerank?time_limit=no"])
def test_what_is_no_reranker_here_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError):
        opened(wrong)


@pytest.mark.parametrize("wrong", [[1.0], [1.0, float("nan")], None, ["a", "b"]])
def test_wrong_scores_are_a_model_error(wrong: Any) -> None:
    with pytest.raises(ModelError, match="the reranker 'mine'"):
        checked("mine", wrong, 2)
