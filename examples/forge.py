"""A forge like GitHub in one table: accounts, repositories, issues, pull requests, stars and forks.

`python forge.py` hosts some repositories in memory, and prints what the access patterns return.
`keyfold patterns --table forge:table` lists the patterns with their requests.

| partition       | sort keys                                             |
| --------------- | ----------------------------------------------------- |
| `ACCOUNT#acme`  | `ACCOUNT`, `MEMBER#ada`                               |
| `REPO#acme/web` | `ISSUE#00000001`, `PULL#00000002`, `REPO`, `STAR#ada` |
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

import keyfold
from keyfold import (
    Collection,
    CreatedAt,
    Entity,
    Get,
    Index,
    Key,
    Put,
    Query,
    Store,
    Table,
    Transaction,
    Update,
    attr,
    part,
    transaction,
)
from keyfold.errors import AlreadyExists
from keyfold.requests import Chain, CollectionGet

# What belongs to an account: its repositories, its memberships and its stars.
by_account = Index("ByAccount", key=Key("account_pk", "account_sk"))
# A repository with its issues, and one with its pull requests, by status. `REPO` sorts after them,
# and `open` after other states: so read backwards, the repository comes first, then what is open.
by_issue = Index("ByIssue", key=Key("issue_pk", "issue_sk"))
by_pull = Index("ByPull", key=Key("pull_pk", "pull_sk"))
# Sparse: only forks are in it.
by_parent = Index("ByParent", key=Key("parent", "pushed_at"))

# Users and organizations share one kind of key, so that no two accounts have the same name. The
# type attribute tells them apart.
table = Table(
    "Forge",
    key=Key("pk", "sk"),
    indexes=[by_account, by_issue, by_pull, by_parent],
    type_attribute="type",
)


class User(Entity, table=table, key=("ACCOUNT#{name}", "ACCOUNT")):
    """A person's account."""

    name: str = part()
    email: str
    joined_at: CreatedAt | None = None


class Organization(Entity, table=table, key=("ACCOUNT#{name}", "ACCOUNT")):
    """An account of several people."""

    name: str = part()
    billing_email: str


class Member(
    Entity,
    table=table,
    key=("ACCOUNT#{organization}", "MEMBER#{user}"),
    indexes={by_account: ("ACCOUNT#{user}", "ORGANIZATION#{organization}")},
):
    """The membership of a user in an organization."""

    organization: str = part()
    user: str = part()
    is_owner: bool = False


class Repository(
    Entity,
    table=table,
    key=("REPO#{owner}/{repo}", "REPO"),
    indexes={
        by_account: ("ACCOUNT#{owner}", "REPO#{pushed_at}"),
        by_issue: ("REPO#{owner}/{repo}", "REPO"),
        by_pull: ("REPO#{owner}/{repo}", "REPO"),
    },
):
    """A repository, with its counters. `parent` is the repository that it is a fork of."""

    owner: str = part()
    repo: str = part()
    description: str = ""
    pushed_at: datetime
    parent: str | None = None
    last_number: int = 0
    stars: int = attr(default=0, ge=0)
    forks: int = attr(default=0, ge=0)


class IssueStatus(StrEnum):
    """Whether an issue is open. The text of `OPEN` is the greatest."""

    OPEN = "open"
    CLOSED = "closed"


class PullStatus(StrEnum):
    """Whether a pull request is open. The text of `OPEN` is the greatest."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class Issue(
    Entity,
    table=table,
    key=("REPO#{owner}/{repo}", "ISSUE#{number:08}"),
    indexes={by_issue: ("REPO#{owner}/{repo}", "ISSUE#{status}#{number:08}")},
):
    """An issue of a repository."""

    owner: str = part()
    repo: str = part()
    number: int = part()
    author: str
    title: str
    status: IssueStatus = IssueStatus.OPEN


class PullRequest(
    Entity,
    table=table,
    key=("REPO#{owner}/{repo}", "PULL#{number:08}"),
    indexes={by_pull: ("REPO#{owner}/{repo}", "PULL#{status}#{number:08}")},
):
    """A pull request. It has a number of the same series as the issues of its repository."""

    owner: str = part()
    repo: str = part()
    number: int = part()
    author: str
    title: str
    status: PullStatus = PullStatus.OPEN


class Star(
    Entity,
    table=table,
    key=("REPO#{owner}/{repo}", "STAR#{user}"),
    indexes={by_account: ("ACCOUNT#{user}", "STAR#{starred_at}")},
):
    """The star that a user has given to a repository."""

    owner: str = part()
    repo: str = part()
    user: str = part()
    starred_at: CreatedAt | None = None


class RepositoryWithIssues(Collection):
    """A repository, and some of its issues."""

    repository: Repository
    issues: list[Issue]


class RepositoryWithPulls(Collection):
    """A repository, and some of its pull requests."""

    repository: Repository
    pulls: list[PullRequest]


@table.pattern("Sign up", rate="100/day")
def sign_up(user: User) -> Put[User]:
    """Store a new user; fails if a user or an organization has that name."""
    return user.create()


@table.pattern("Found an organization", rate="10/day")
def found(organization: Organization, user: str) -> Transaction:
    """Store a new organization with its first member, who owns it."""
    owner = Member(organization=organization.name, user=user, is_owner=True)
    return transaction(organization.create(), owner.create())


@table.pattern("Members of an organization", rate="1/s")
def members_of(organization: str) -> Query[Member]:
    """The members of an organization, by name."""
    return Member.query(organization=organization)


@table.pattern("Organizations of a user", rate="5/s")
def organizations_of(user: str) -> Query[Member]:
    """The memberships of a user."""
    return Member.query(by_account, user=user)


@table.pattern("Create a repository", rate="500/day")
def create_repository(repository: Repository) -> Put[Repository]:
    """Store a new repository; fails if its owner has one of that name."""
    return repository.create()


@table.pattern("Repositories of an account", rate="5/s")
def repositories_of(owner: str) -> Query[Repository]:
    """The 50 repositories of a user or an organization that were pushed last."""
    return Repository.query(by_account, owner=owner).descending().limit(50)


@table.pattern("Push", rate="2/s", peak="20/s")
def push(owner: str, repo: str, at: datetime) -> Update[Repository]:
    """Note the time of a push, by which repositories are sorted."""
    return Repository.update(owner=owner, repo=repo).set(Repository.f.pushed_at, at)


@table.pattern("Fork a repository", rate="200/day")
def fork(repository: Repository, owner: str, at: datetime) -> Transaction:
    """Store a fork of a repository, and count it."""
    forked = Repository(
        owner=owner,
        repo=repository.repo,
        description=repository.description,
        pushed_at=at,
        parent=f"{repository.owner}/{repository.repo}",
    )
    counted = Repository.update(owner=repository.owner, repo=repository.repo)
    return transaction(forked.create(), counted.increment(Repository.f.forks))


@table.pattern("Forks of a repository", rate="5k/day")
def forks_of(owner: str, repo: str) -> Query[Repository]:
    """The 50 forks of a repository that were pushed last."""
    return Repository.query(by_parent, parent=f"{owner}/{repo}").descending().limit(50)


@table.pattern("Open an issue", rate="5k/day")
def open_issue(owner: str, repo: str, author: str, title: str) -> Chain[Issue]:
    """Take the next number of a repository, then store an issue with it.

    These are two calls. If the second fails, its number is left out; none is given twice.
    """
    return next_number(owner, repo).then(
        lambda found: Issue(
            owner=owner, repo=repo, number=found.last_number, author=author, title=title
        ).create()
    )


@table.pattern("Open a pull request", rate="3k/day")
def open_pull(owner: str, repo: str, author: str, title: str) -> Chain[PullRequest]:
    """Take the next number of a repository, then store a pull request with it."""
    return next_number(owner, repo).then(
        lambda found: PullRequest(
            owner=owner, repo=repo, number=found.last_number, author=author, title=title
        ).create()
    )


def next_number(owner: str, repo: str) -> Update[Repository]:
    """Return a request that counts up the numbers of a repository; fails if there is none."""
    return Repository.update(owner=owner, repo=repo).increment(Repository.f.last_number)


@table.pattern("Repository with its open issues", rate="10/s", peak="50/s")
def repository_with_issues(owner: str, repo: str) -> CollectionGet[RepositoryWithIssues]:
    """A repository and its ten latest open issues, in one query."""
    with_issues = RepositoryWithIssues.get(by_issue, owner=owner, repo=repo)
    return with_issues.since(IssueStatus.OPEN).descending().limit(10)


@table.pattern("Repository with its open pull requests", rate="5/s", peak="25/s")
def repository_with_pulls(owner: str, repo: str) -> CollectionGet[RepositoryWithPulls]:
    """A repository and its ten latest open pull requests, in one query."""
    with_pulls = RepositoryWithPulls.get(by_pull, owner=owner, repo=repo)
    return with_pulls.since(PullStatus.OPEN).descending().limit(10)


@table.pattern("Issue", rate="10/s", peak="50/s")
def issue(owner: str, repo: str, number: int) -> Get[Issue]:
    """One issue, by its number."""
    return Issue.get(owner=owner, repo=repo, number=number)


@table.pattern("Issues by status", rate="1/s")
def issues_by_status(
    owner: str, repo: str, status: IssueStatus, cursor: str | None = None
) -> Query[Issue]:
    """The issues of a repository in one state, the latest first, page by page."""
    found = Issue.query(by_issue, owner=owner, repo=repo, status=status)
    return found.descending().limit(25).after(cursor)


@table.pattern("Pull requests by status", rate="1/s")
def pulls_by_status(
    owner: str, repo: str, status: PullStatus, cursor: str | None = None
) -> Query[PullRequest]:
    """The pull requests of a repository in one state, the latest first, page by page."""
    found = PullRequest.query(by_pull, owner=owner, repo=repo, status=status)
    return found.descending().limit(25).after(cursor)


@table.pattern("Close an issue", rate="4k/day")
def close(issue: Issue) -> Update[Issue]:
    """Close an issue; it moves in the index of issues."""
    return issue.change(status=IssueStatus.CLOSED)


@table.pattern("Merge a pull request", rate="2k/day")
def merge(pull: PullRequest) -> Update[PullRequest]:
    """Merge a pull request; fails if somebody has closed or merged it since it was read."""
    return pull.change(status=PullStatus.MERGED)


@table.pattern("Star a repository", rate="5k/day")
def star(owner: str, repo: str, user: str) -> Transaction:
    """Give a star and count it; fails if the user has given one."""
    return transaction(
        Star(owner=owner, repo=repo, user=user).create(),
        Repository.update(owner=owner, repo=repo).increment(Repository.f.stars),
    )


@table.pattern("Take back a star", rate="200/day")
def unstar(owner: str, repo: str, user: str) -> Transaction:
    """Take a star back; fails if there is none."""
    return transaction(
        Star.delete(owner=owner, repo=repo, user=user).where(Star.f.starred_at.exists()),
        Repository.update(owner=owner, repo=repo).increment(Repository.f.stars, -1),
    )


@table.pattern("Stargazers of a repository", rate="2k/day")
def stargazers_of(owner: str, repo: str) -> Query[Star]:
    """The stars of a repository, by user."""
    return Star.query(owner=owner, repo=repo)


@table.pattern("Stars of a user", rate="10k/day")
def stars_of(user: str) -> Query[Star]:
    """The latest 50 stars that a user has given."""
    return Star.query(by_account, user=user).descending().limit(50)


# How many there are, for `keyfold cost`, `heat` and `lint`.
table.expect(User, items="50k", growth="3k/month")
table.expect(Organization, items="5k", growth="300/month")
table.expect(Member, items="30k", growth="2k/month", per_partition=6)
table.expect(Repository, items="200k", growth="15k/month")
table.expect(Issue, items="2M", growth="150k/month", per_partition=20)
table.expect(PullRequest, items="1M", growth="90k/month", per_partition=15)
table.expect(Star, items="1.5M", growth="150k/month", per_partition=12)


@table.examples
def make_examples() -> list[Entity]:
    """Return a repository of an organization, with issues, a fork, a pull request and a star."""
    start = datetime(2026, 3, 1, 9, tzinfo=UTC)
    return [
        User(name="ada", email="ada@example.com", joined_at=start),
        User(name="bob", email="bob@example.com", joined_at=start),
        Organization(name="acme", billing_email="pay@example.com"),
        Member(organization="acme", user="ada", is_owner=True),
        Repository(
            owner="acme",
            repo="web",
            description="Our site",
            pushed_at=start,
            last_number=3,
            stars=1,
            forks=1,
        ),
        Repository(owner="bob", repo="web", pushed_at=start + timedelta(days=1), parent="acme/web"),
        Issue(owner="acme", repo="web", number=1, author="bob", title="Cannot log in"),
        Issue(
            owner="acme",
            repo="web",
            number=2,
            author="bob",
            title="Dark mode",
            status=IssueStatus.CLOSED,
        ),
        PullRequest(
            owner="acme", repo="web", number=3, author="bob", title="Do not forget the session"
        ),
        Star(owner="acme", repo="web", user="bob", starred_at=start),
    ]


def fill(store: Store, start: datetime) -> None:
    """Store two users, an organization, a repository with issues, a fork and a pull request."""
    for name in ("ada", "bob"):
        store.run(sign_up(User(name=name, email=f"{name}@example.com")))
    store.run(found(Organization(name="acme", billing_email="pay@example.com"), user="ada"))
    web = store.run(create_repository(Repository(owner="acme", repo="web", pushed_at=start)))
    for title in ("Cannot log in", "Dark mode", "Crash at startup"):
        store.run(open_issue("acme", "web", author="bob", title=title))
    store.run(fork(web, owner="bob", at=start + timedelta(days=1)))
    store.run(open_pull("acme", "web", author="bob", title="Do not crash at startup"))
    store.run(star("acme", "web", user="bob"))


def main() -> None:
    """Run the forge for a while, in memory."""
    with keyfold.open(table, ":memory:") as store:
        fill(store, datetime(2026, 3, 1, 9, tzinfo=UTC))
        try:
            store.run(sign_up(User(name="acme", email="eve@example.com")))
        except AlreadyExists:
            print("The name acme is taken, by an organization.")

        crash = store.run(issue("acme", "web", 3))
        assert crash is not None
        store.run(close(crash))
        shown = store.run(repository_with_issues("acme", "web"))
        assert shown is not None
        web = shown.repository
        print(f"\n{web.owner}/{web.repo}: {web.stars} star, {web.forks} fork. Open issues:")
        for each in shown.issues:
            print(f"  #{each.number} {each.title}")

        with_pulls = store.run(repository_with_pulls("acme", "web"))
        assert with_pulls is not None
        for pull in with_pulls.pulls:
            merged = store.run(merge(pull))
            print(f"\nPull request #{merged.number} of {merged.author} is {merged.status}.")

        print(
            "\nForks:",
            *(f"{each.owner}/{each.repo}" for each in store.run(forks_of("acme", "web"))),
        )
        print("Starred by:", *(each.user for each in store.run(stargazers_of("acme", "web"))))
        print(
            "Organizations of ada:", *(m.organization for m in store.run(organizations_of("ada")))
        )


if __name__ == "__main__":
    main()
