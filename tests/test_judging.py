"""A judging model: off by default, asked in both orders, shown as an opinion beside the votes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlite_utils import Database

from bench import __main__ as command
from bench import config, store
from bench.errors import BenchError
from bench.meter.target import Target
from bench.people import audit
from bench.running import lock
from bench.text import LANGUAGES, words
from bench.votes import ballots, judging, opinion, opinions
from bench.votes.ballots import Ballot
from pages.elements import who
from tests import chinese_examples as made
from tests.test_ballots import go_on, start
from tests.test_pages import text, visit


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    monkeypatch.setenv("SPARK_COMPARE_START_WORKER", "0")
    monkeypatch.setattr(who, "voter", lambda actor: "browser:of-a-test-person")
    return tmp_path


@contextmanager
def server(reply: Callable[[str], str], keys: list[str] | None = None) -> Iterator[str]:
    """A model that answers each question with ``reply(question)``, streamed; notes its keys."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send("application/json", json.dumps({"data": [{"id": "wise"}]}))

        def do_POST(self) -> None:
            if keys is not None:
                keys.append(self.headers.get("authorization", ""))
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            said = reply(body["messages"][0]["content"])
            events = [
                {"choices": [{"delta": {"content": said}, "finish_reason": "stop"}]},
                {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 9}},
            ]
            stream = "".join(f"data: {json.dumps(one)}\n\n" for one in events)
            self._send("text/event-stream", stream + "data: [DONE]\n\n")

        def _send(self, kind: str, body: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()


def wise(question: str) -> str:
    """Prefers whichever answer is not Simplified, wherever it stands; thinks aloud before."""
    first = question.split("【回答 A")[1].split("【回答 B")[0]
    poor = any(one.strip() and one[:12] in first for one in made.texts("poor").values())
    return f'Let me see. {{"reason": "用詞自然", "winner": "{"B" if poor else "A"}"}}'


def stubborn(question: str) -> str:
    return '{"reason": "先看到的比較好", "winner": "A"}'


def held(db: Database) -> tuple[Ballot, dict[str, str]]:
    ballot, runs = start(db, "good", "poor")
    found = ballots.load(db, ballot)
    assert found
    return found, runs


def panel(var: Path, ballot: Ballot) -> opinions.Panel:
    with store.opened(var / "bench.db") as db:
        every, cast = opinions.of(db, ballot.id), ballots.votes_of(db, ballot.id)
    (found,) = opinions.panels(every, cast)
    return found


def test_without_a_server_there_is_no_judge(
    var: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    with store.opened(var / "bench.db") as db:
        ballot, _ = held(db)
    assert command.main(["judge", ballot.id]) == 1
    assert words("en")("errors.judge_off") in capsys.readouterr().err
    assert command.main(["judge", "nope"]) == 1
    assert "no vote “nope”" in capsys.readouterr().err


def test_an_endpoint_judges_every_pair_in_both_orders_and_is_held_against_people(
    var: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    keys: list[str] = []
    asked: list[str] = []

    def note(question: str) -> str:
        asked.append(question)
        return wise(question)

    with store.opened(var / "bench.db") as db:
        ballot, runs = held(db)
        good = runs["good"]
        go_on(db, ballot.id, "v", lambda pair: "left" if pair.left == good else "right")
    with server(note, keys) as url:
        monkeypatch.setenv("SPARK_COMPARE_JUDGE_URL", url)
        monkeypatch.setenv(judging.KEY, "a-secret-key")
        assert command.main(["judge", ballot.id]) == 0
        assert command.main(["judge", ballot.id]) == 0
    assert len(asked) == 24, "twelve pairs in two orders, and none a second time"
    assert set(keys) == {"Bearer a-secret-key"}
    assert all(question.startswith(opinion.RUBRIC) for question in asked)
    found = panel(var, ballot)
    assert (found.judge, found.read, found.wins) == ("wise", 12, {runs["good"]: 12})
    assert (found.agreement.same, found.agreement.n) == (12, 12)
    assert "agrees with the people's majority in 12 of 12" in capsys.readouterr().out
    assert b"a-secret-key" not in (var / "bench.db").read_bytes()
    with store.opened(var / "bench.db") as db:
        assert audit.entries(db)[0].detail == {"judge": "wise", "vote": ballot.id}


def test_a_judge_that_clings_to_a_place_gives_ties_and_its_bias_is_told(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        ballot, _ = held(db)
    assert judging.judge(config.read(), ballot, "stubborn", stubborn) == 12
    found = panel(var, ballot)
    assert (found.ties, dict(found.wins), found.shown_first) == (12, {}, 1.0)
    said = opinions.sentences(ballot, found, words("en"))
    assert any("clung to the answer shown first in 100 % of the pairs" in one for one in said)
    assert words("en")("opinion.no_people") in said


def test_a_server_that_fails_is_given_up_and_what_was_judged_stays(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        ballot, _ = held(db)
    turns = iter(range(99))

    def tired(question: str) -> str:
        if next(turns) >= 4:
            raise BenchError("judge_failed", reason="connection refused")
        return wise(question)

    with pytest.raises(BenchError, match="connection refused"):
        judging.judge(config.read(), ballot, "tired", tired)
    assert panel(var, ballot).read == 2
    assert judging.judge(config.read(), ballot, "tired", wise) == 10, "it goes on where it was"


def test_a_request_that_breaks_is_a_sentence() -> None:
    ask = judging.asking(Target(url="http://127.0.0.1:9", model="m"))
    with pytest.raises(BenchError, match="did not answer"):
        ask("？")


def test_unreadable_replies_are_counted_and_are_no_opinion(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        ballot, _ = held(db)
    judging.judge(config.read(), ballot, "vague", lambda question: "Both are nice!")
    found = panel(var, ballot)
    assert (found.read, found.unread, found.ties) == (0, 12, 0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_opinion_stands_marked_beside_the_votes(var: Path, language: str) -> None:
    with store.opened(var / "bench.db") as db:
        ballot, runs = held(db)
    t = words(language)
    shown = text(visit("chinese.py", language, run=list(runs.values())))
    assert t("opinion.badge") not in shown, "off until it is asked for"
    judging.judge(config.read(), replace(ballot), "<b>wise</b>", wise)
    shown = text(visit("chinese.py", language, run=list(runs.values())))
    assert t("opinion.badge") in shown and "<b>wise</b>" in shown
    assert "rubric-1" in shown and opinion.RUBRIC[:20] in shown


def test_a_model_of_this_machine_does_not_judge_while_a_run_goes_on(var: Path) -> None:
    with (
        lock.held(config.read().lock),
        pytest.raises(BenchError, match="A run is going on"),
        judging.of_catalogue(config.read(), "smollm2-135m"),
    ):
        raise AssertionError("it was not started")


@pytest.mark.engine
@pytest.mark.timeout(300)
def test_a_demo_model_judges_and_is_gone_afterwards(var: Path) -> None:
    prompt, *_ = made.SHORT
    with store.opened(var / "bench.db") as db:
        runs = [made.run(db, "good", {prompt.id: one}) for one in ("好的。", "可以。")]
        entrants = [ballots.Entrant(run=run, name=run) for run in runs]
        ballot = ballots.load(db, ballots.create(db, entrants, "zh-tw-1"))
    assert ballot
    with judging.of_catalogue(config.read(), "smollm2-135m") as target:
        said = judging.asking(target)("Say yes.")
        assert said.strip()
    assert not list((var / "engines").glob("*.json"))
