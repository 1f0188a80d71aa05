"""Tests of the forge, on an engine in memory: `pytest test_forge.py`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import forge
import pytest
from forge import IssueStatus, PullStatus, User

from keyfold import Store
from keyfold.errors import AlreadyExists, NotFound, TransactionFailed, VersionConflict
from keyfold.testing import OpenStore

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def store(keyfold_store: OpenStore) -> Store:
    opened = keyfold_store(forge.table)
    forge.fill(opened, START)
    return opened


def test_every_pattern_can_run_without_a_scan() -> None:
    assert not any(pattern.explain().scans for pattern in forge.table.patterns.values())


def test_users_and_organizations_share_their_names(store: Store) -> None:
    with pytest.raises(AlreadyExists):
        store.run(forge.sign_up(User(name="acme", email="eve@example.com")))
    assert [each.user for each in store.run(forge.members_of("acme"))] == ["ada"]
    assert [each.organization for each in store.run(forge.organizations_of("ada"))] == ["acme"]


def test_issues_and_pull_requests_share_their_numbers(store: Store) -> None:
    found = store.run(forge.repository_with_issues("acme", "web"))
    assert found is not None
    assert [each.number for each in found.issues] == [3, 2, 1]
    with_pulls = store.run(forge.repository_with_pulls("acme", "web"))
    assert with_pulls is not None
    assert [each.number for each in with_pulls.pulls] == [4]
    with pytest.raises(NotFound):
        store.run(forge.open_issue("acme", "lost", author="bob", title="Where is it?"))


def test_a_closed_issue_moves_to_the_closed_ones(store: Store) -> None:
    issue = store.run(forge.issue("acme", "web", 2))
    assert issue is not None
    store.run(forge.close(issue))
    by_status = {
        status: [each.number for each in store.run(forge.issues_by_status("acme", "web", status))]
        for status in IssueStatus
    }
    assert by_status == {IssueStatus.OPEN: [3, 1], IssueStatus.CLOSED: [2]}
    found = store.run(forge.repository_with_issues("acme", "web"))
    assert found is not None
    assert [each.number for each in found.issues] == [3, 1]


def test_issues_are_listed_page_by_page(store: Store) -> None:
    for number in range(4, 40):
        store.run(forge.open_issue("acme", "web", author="bob", title=f"Bug {number}"))
    first = store.run(forge.issues_by_status("acme", "web", IssueStatus.OPEN))
    rest = store.run(forge.issues_by_status("acme", "web", IssueStatus.OPEN, first.cursor))
    assert (len(first), len(rest), rest.cursor) == (25, 14, None)


def test_a_pull_request_is_merged_once(store: Store) -> None:
    [pull] = store.run(forge.pulls_by_status("acme", "web", PullStatus.OPEN))
    assert store.run(forge.merge(pull)).status is PullStatus.MERGED
    with pytest.raises(VersionConflict):
        store.run(forge.merge(pull))


def test_a_user_gives_one_star(store: Store) -> None:
    with pytest.raises(TransactionFailed):
        store.run(forge.star("acme", "web", user="bob"))
    assert [each.repo for each in store.run(forge.stars_of("bob"))] == ["web"]
    store.run(forge.unstar("acme", "web", user="bob"))
    with pytest.raises(TransactionFailed):
        store.run(forge.unstar("acme", "web", user="bob"))
    assert len(store.run(forge.stargazers_of("acme", "web"))) == 0
    [web] = store.run(forge.repositories_of("acme"))
    assert web.stars == 0


def test_a_fork_is_counted_and_listed_by_its_last_push(store: Store) -> None:
    [web] = store.run(forge.repositories_of("acme"))
    assert web.forks == 1
    store.run(forge.fork(web, owner="ada", at=START + timedelta(days=2)))
    assert [each.owner for each in store.run(forge.forks_of("acme", "web"))] == ["ada", "bob"]
    store.run(forge.push("bob", "web", at=START + timedelta(days=3)))
    assert [each.owner for each in store.run(forge.forks_of("acme", "web"))] == ["bob", "ada"]


def test_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    forge.main()
    assert "Starred by: bob" in capsys.readouterr().out
