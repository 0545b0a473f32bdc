"""Who may do what: rules first, then what a visitor of the pages meets, crafted clicks included."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import replace
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from bench import store
from bench.config import ROOT, read
from bench.errors import BenchError
from bench.people import access, audit, passcode
from bench.people.access import FOR_VIEWERS, Action, Actor, Grant, Policy, Visit
from bench.running import lock
from bench.text import LANGUAGES, words
from pages.elements import who
from tests import examples

ALONE = Policy(only_here=True)
NOW = 1_800_000_000.0
SIGNED_IN = {
    "is_logged_in": True,
    "sub": "7",
    "email": "Wang@Example.com",
    "email_verified": True,
    "iat": NOW - 60,
    "groups": ["staff", "spark"],
}
OIDC = Policy(oidc=True, only_here=True)
HERE, ELSEWHERE = Visit(here=True), Visit(here=False)


def role(policy: Policy, visit: Visit, now: float = NOW) -> tuple[str, str]:
    found = access.actor(policy, visit, now)
    return found.role, found.why


def test_at_a_machine_with_nothing_set_up_everybody_is_an_operator() -> None:
    assert access.actor(ALONE, HERE, NOW) == Actor(who="local", role="operator")


@pytest.mark.parametrize(
    ("policy", "visit", "why"),
    [
        (ALONE, ELSEWHERE, "no_passcode"),
        (replace(ALONE, only_here=False), HERE, "no_passcode"),
        (replace(ALONE, passcode="hash"), HERE, "passcode"),
        (replace(ALONE, passcode="hash"), ELSEWHERE, "passcode"),
    ],
)
def test_in_every_other_case_without_a_sign_in_one_is_a_viewer(
    policy: Policy, visit: Visit, why: str
) -> None:
    assert role(policy, visit) == ("viewer", why)


def test_a_grant_holds_for_its_time_and_for_the_passcode_it_was_given_for() -> None:
    policy = replace(ALONE, passcode="hash")
    visit = replace(ELSEWHERE, grant=Grant(until=NOW + 1, passcode="hash"))
    assert role(policy, visit) == ("operator", "")
    assert role(policy, visit, NOW + 2) == ("viewer", "passcode")
    assert role(replace(policy, passcode="another"), visit) == ("viewer", "passcode")
    assert role(replace(policy, passcode=None), visit) == ("viewer", "no_passcode")


@pytest.mark.parametrize(
    "operators",
    [["wang@example.com"], ["@example.com"], ["groups=spark"], ["sub=7"], ["x@y.z", "sub=7"]],
)
def test_the_setting_names_operators(operators: list[str]) -> None:
    policy = replace(OIDC, operators=tuple(operators))
    found = access.actor(policy, Visit(here=False, claims=SIGNED_IN), NOW)
    assert found == Actor(who="Wang@Example.com", role="operator")


@pytest.mark.parametrize(
    "operators", [[], ["ang@example.com"], ["@ample.com"], ["groups=spar"], ["sub="], ["wang"]]
)
def test_who_is_not_named_is_a_viewer(operators: list[str]) -> None:
    policy = replace(OIDC, operators=tuple(operators))
    assert role(policy, Visit(here=True, claims=SIGNED_IN)) == ("viewer", "viewer")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"is_logged_in": False}, ("nobody", "sign_in")),
        ({"is_logged_in": "True"}, ("nobody", "sign_in")),
        ({"iat": NOW - 12 * 3600 - 1}, ("nobody", "expired")),
        ({"iat": None}, ("nobody", "expired")),
        ({"iat": "1"}, ("nobody", "expired")),
        ({"email_verified": False}, ("viewer", "viewer")),
        ({"email_verified": "false"}, ("viewer", "viewer")),
        ({"email_verified": None}, ("viewer", "viewer")),
        ({"email": None}, ("viewer", "viewer")),
        ({"email": ["wang@example.com"]}, ("viewer", "viewer")),
    ],
)
def test_a_sign_in_that_is_off_opens_nothing_of_an_operators(
    changes: dict[str, Any], expected: tuple[str, str]
) -> None:
    policy = replace(OIDC, operators=("wang@example.com",))
    assert role(policy, Visit(here=True, claims=SIGNED_IN | changes)) == expected


def test_with_a_sign_in_neither_this_machine_nor_a_passcode_opens_anything() -> None:
    policy = replace(OIDC, passcode="hash")
    grant = Grant(until=NOW + 1, passcode="hash")
    assert role(policy, replace(HERE, grant=grant)) == ("nobody", "sign_in")


def test_whom_the_viewers_setting_leaves_out_is_refused() -> None:
    policy = replace(OIDC, viewers=("@elsewhere.com",))
    assert role(policy, Visit(here=True, claims=SIGNED_IN)) == ("nobody", "refused")


def test_a_sign_in_that_was_ended_is_none() -> None:
    visit = Visit(here=True, claims=SIGNED_IN, signed_out=True)
    assert role(replace(OIDC, operators=("sub=7",)), visit) == ("nobody", "sign_in")


@pytest.mark.parametrize("action", get_args(Action))
def test_each_role_may_do_its_own(action: Action) -> None:
    roles = {name: Actor(who="", role=name) for name in get_args(access.Role)}
    assert access.may(roles["operator"], action)
    assert access.may(roles["viewer"], action) is (action in FOR_VIEWERS)
    assert not access.may(roles["nobody"], action)


def test_viewers_look_compare_save_and_vote_and_nothing_else() -> None:
    assert {"view", "compare", "export", "vote"} == FOR_VIEWERS


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_is_a_sentence(language: str) -> None:
    for why in get_args(access.Why):
        if why:
            with pytest.raises(BenchError) as refused:
                access.require(Actor(who="", role="nobody", why=why), "view")
            said = words(language).fault(refused.value.fault)
            assert len(said) >= 5 and "access.why" not in said


LOCAL = {"host": "127.0.0.1:8501", "origin": "http://127.0.0.1:8501"}


@pytest.mark.parametrize(
    ("peer", "changes", "expected"),
    [
        ("127.0.0.1", {}, True),
        ("::1", {"host": "[::1]:8501", "origin": "http://[::1]:8501"}, True),
        ("127.0.0.1", {"host": "localhost", "origin": None}, True),
        ("192.168.1.9", {}, False),  # another machine that says it were this one
        (None, {}, False),
        ("127.0.0.1", {"host": "spark.lan"}, False),  # DNS rebinding, or a tunnel
        ("127.0.0.1", {"host": None}, False),
        ("127.0.0.1", {"host": "localhost.evil.example"}, False),
        ("127.0.0.1", {"host": "evil.example@localhost"}, False),
        ("127.0.0.1", {"origin": "http://192.168.1.9"}, False),  # a proxy that rewrites Host
        ("127.0.0.1", {"origin": "null"}, False),
        ("127.0.0.1", {"x-forwarded-for": "127.0.0.1"}, False),
        ("127.0.0.1", {"x-forwarded-proto": "https"}, False),
        ("127.0.0.1", {"forwarded": "for=127.0.0.1"}, False),
        ("127.0.0.1", {"via": "1.1 proxy"}, False),
        ("127.0.0.1", {"cf-connecting-ip": "127.0.0.1"}, False),
    ],
)
def test_only_a_browser_at_this_machine_is_here(
    peer: str | None, changes: dict[str, str | None], expected: bool
) -> None:
    headers = {name: value for name, value in (LOCAL | changes).items() if value is not None}
    assert access.from_here(peer, headers) is expected


@pytest.mark.parametrize(
    ("name", "served", "expected"),
    [
        ("localhost", (), True),
        ("192.168.1.9", (), True),  # digits can't be made to point here
        ("spark.local", (), True),
        ("evil.example", (), False),
        (None, ("*",), False),
        ("localhost", ("tools.example",), True),
        ("tools.example", ("Tools.example",), True),
        ("192.168.1.9", ("tools.example",), False),
        ("a.example", ("*.example",), True),
        ("example", ("*.example",), False),
        ("anything.example", ("*",), True),
    ],
)
def test_the_app_answers_under_names_that_are_known(
    name: str | None, served: tuple[str, ...], expected: bool
) -> None:
    assert access.host_served(name, served, own=("spark.local",)) is expected


@pytest.mark.parametrize(
    ("origin", "host", "expected"),
    [
        (None, "a.example", True),
        ("http://a.example", "a.example", True),
        ("https://a.example", "a.example:443", True),
        ("http://A.example:80", "a.example", True),
        ("http://a.example:3000", "a.example:8501", False),  # another program on the same machine
        ("http://b.example", "a.example", False),
        ("null", "a.example", False),
        ("http://a.example:x", "a.example", False),
        ("file://", "a.example", False),
    ],
)
def test_a_page_of_another_site_is_told_apart(
    origin: str | None, host: str, expected: bool
) -> None:
    assert access.same_origin(origin, host) is expected


# The pages ---------------------------------------------------------------------------------------


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    monkeypatch.setenv("SPARK_COMPARE_START_WORKER", "0")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return tmp_path


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The visitor sits at another machine."""
    monkeypatch.setattr(who, "here", lambda: False)


def visit(page: str | None = None, locale: str = "en-US", **query: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "pages" / "router.py"), default_timeout=60)
    at.context = {"locale": locale, "url": "http://bench.test/"}
    at.run()
    if page:
        at.query_params.update(query)
        at.switch_page(page).run()
    assert not at.exception, at.exception
    return at


def said(at: AppTest) -> str:
    kinds = ("info", "error", "warning", "caption", "markdown", "title")
    text = "\n".join(str(one.value) for kind in kinds for one in getattr(at, kind))
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


def crafted(button: Button) -> None:
    """A click on a disabled button, which no browser sends: somebody made it."""
    assert button.disabled
    button.proto.disabled = False
    button.click()


def enter(at: AppTest, given: str) -> None:
    at.text_input(key="passcode").set_value(given)
    next(one for one in at.button if one.key and one.key.startswith("FormSubmitter")).click().run()


def runs(var: Path) -> int:
    with store.opened(var / "bench.db") as db:
        return len(store.runs(db))


@pytest.mark.parametrize("locale", ["en-US", "zh-TW"])
def test_a_viewer_sees_actions_disabled_with_the_reason(
    var: Path, elsewhere: None, locale: str
) -> None:
    t = words("zh-TW" if locale == "zh-TW" else "en")
    with store.opened(var / "bench.db") as db:
        run = examples.live(db)
    at = visit(locale=locale)
    assert at.button(key="start").disabled
    assert t("access.why.no_passcode") in said(at)
    at = visit("run.py", locale, run=run)
    button = at.button(key=f"cancel-{run}")
    assert button.disabled and "passcode" in button.help
    assert t("access.role.viewer") in said(at)


def test_a_viewers_crafted_click_on_start_queues_nothing(var: Path, elsewhere: None) -> None:
    with lock.held(read().lock):
        at = visit()
        crafted(at.button(key="start"))
        at.run()
        assert words("en")("access.why.no_passcode") in said(at)
    assert runs(var) == 0


def test_a_viewers_crafted_click_on_stop_stops_nothing(var: Path, elsewhere: None) -> None:
    with store.opened(var / "bench.db") as db:
        run = examples.live(db)
    at = visit("run.py", run=run)
    crafted(at.button(key=f"cancel-{run}"))
    at.run()
    assert words("en")("access.why.no_passcode") in said(at)
    with store.opened(var / "bench.db") as db:
        assert not store.cancelling(db, run)
        assert audit.entries(db) == []


def test_a_viewer_makes_the_server_ask_no_other_server(
    var: Path, elsewhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("bench.probe.served", lambda url, headers: asked.append(url))
    at = visit()
    (model,) = (one for one in at.radio if one.key and one.key.startswith("model-"))
    model.set_value("endpoint").run()
    assert not at.text_input or all("http" not in (one.placeholder or "") for one in at.text_input)
    assert words("en")("access.why.no_passcode") in said(at)
    assert asked == []


def test_an_operators_page_is_closed_to_viewers(var: Path, elsewhere: None) -> None:
    with store.opened(var / "bench.db") as db:
        audit.note(db, access.shell("mei"), "passcode")
    at = visit("audit.py")
    assert len(at.error) == 1 and not at.dataframe


def test_a_state_that_only_looks_like_a_grant_is_none(var: Path, elsewhere: None) -> None:
    passcode.keep(var / "passcode", "a good passcode")
    at = visit()
    at.session_state["grant"] = {"until": 9e18, "passcode": passcode.stored(var / "passcode")}
    at.run()
    assert at.button(key="start").disabled


def test_the_right_passcode_opens_the_actions_until_one_leaves(var: Path, elsewhere: None) -> None:
    passcode.keep(var / "passcode", "a good passcode")
    at = visit()
    assert at.button(key="start").disabled
    enter(at, "a wrong passcode")
    assert words("en")("errors.passcode_wrong") in said(at)
    enter(at, "a good passcode")
    assert not at.button(key="start").disabled
    assert words("en")("access.role.operator") in said(at)
    at.button(key="sign-out").click().run()
    assert at.button(key="start").disabled
    with store.opened(var / "bench.db") as db:
        did = [(entry.who, entry.action) for entry in audit.entries(db)]
    assert did == [("passcode", "sign_out"), ("passcode", "sign_in"), ("", "wrong_passcode")]


def test_setting_a_passcode_ends_the_trust_in_this_machine(var: Path) -> None:
    assert not visit().button(key="start").disabled
    passcode.keep(var / "passcode", "a good passcode")
    assert visit().button(key="start").disabled


def test_nothing_but_actions_changes_the_store_for_somebody() -> None:
    """Pages and commands go through `bench.people.actions`, where the actor is asked for."""
    changing = {"submit", "cancel", "keep", "rename", "delete", "archive"}
    files = [*(ROOT / "pages").rglob("*.py"), ROOT / "bench" / "__main__.py", ROOT / "app.py"]
    for file in files:
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name):
                found = (call.value.id, call.attr)
                assert found[0] not in ("store", "worker") or found[1] not in changing, (
                    f"{file.name}: {'.'.join(found)}"
                )


def test_every_setting_is_in_the_list_of_settings() -> None:
    read_in = (ROOT / "bench" / "config.py").read_text(encoding="utf-8")
    listed = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    names = re.findall(r'environ\.get\("(\w+)"', read_in)
    assert "SPARK_COMPARE_HOSTS" in names
    assert [name for name in names if f"`{name}`" not in listed] == []
