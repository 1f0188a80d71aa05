"""A web service for address books, with FastAPI: cursors, PATCH, ETags, errors as HTTP responses.

`uvicorn service:app` serves it; `/docs` describes it. `CONTACTS_DB` is the database: a file, by
default `contacts.db`, or a URL such as `dynamodb://eu-west-1`. `CONTACTS_CURSOR_KEY` has at least
16 random characters; on DynamoDB, the processes of the service need it for each other's cursors.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, TypedDict

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, StringConstraints

import keyfold
from keyfold import AsyncStore, CreatedAt, Entity, Key, Table, Ulid, UpdatedAt, Version, part
from keyfold.errors import (
    AccessDenied,
    ConditionFailed,
    CursorInvalid,
    IdInvalid,
    KeyfoldError,
    KeyPartInvalid,
    NotFound,
    OutcomeUnknown,
    OutOfBounds,
    SizeExceeded,
    TransactionFailed,
    Unavailable,
    Unreachable,
    ValueInvalid,
    VersionConflict,
)

# What is stored.

table = Table("Contacts", key=Key("pk", "sk"))

Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Email = Annotated[str, StringConstraints(pattern=r"^[^@\s]+@[^@\s]+$", to_lower=True)]


class ContactId(Ulid, prefix="contact", separator="_"):
    """Looks like contact_01JZ10H7X367VB2NF4YQ973DHW; sorts by the time it was made."""


class Contact(Entity, table=table, key=("BOOK#{book}", "{contact}"), unique="email"):
    """Somebody in an address book. The version counts the writes, and is the ETag."""

    book: str = part()
    contact: ContactId = part()
    name: Name
    email: Email
    phone: str | None = None
    version: Version = 0
    created_at: CreatedAt | None = None
    updated_at: UpdatedAt | None = None


# What clients send and receive.


class NewContact(BaseModel):
    """The body of a POST."""

    name: Name
    email: Email
    phone: str | None = None


class ContactPatch(BaseModel):
    """The body of a PATCH: only the fields that are in it are changed."""

    name: Name | None = None
    email: Email | None = None
    phone: str | None = None


class ContactList(BaseModel):
    """A page of contacts, and the cursor of the next one."""

    contacts: list[Contact]
    next_cursor: str | None


# The store is opened once, when the application starts.


class State(TypedDict):
    """What the application has while it runs."""

    store: AsyncStore


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[State, None]:
    """Open the store, and close it when the application stops."""
    url = os.environ.get("CONTACTS_DB", "contacts.db")
    cursor_key = os.environ.get("CONTACTS_CURSOR_KEY", "").encode() or None
    async with keyfold.open_async(table, url, cursor_key=cursor_key) as store:
        yield {"store": store}


def get_store(request: Request) -> AsyncStore:
    """Return the application's store; tests override this dependency."""
    store: AsyncStore = request.state.store
    return store


def get_version(if_match: Annotated[str | None, Header()] = None) -> int | None:
    """Return the version that a client has seen, from If-Match; None if any will do."""
    if if_match is None or if_match == "*":
        return None
    tag = if_match.removeprefix('"').removesuffix('"')
    if not tag.isdecimal():
        raise HTTPException(412, "If-Match is no ETag of ours.")
    return int(tag)


StoreOf = Annotated[AsyncStore, Depends(get_store)]
SeenVersion = Annotated[int | None, Depends(get_version)]

app = FastAPI(title="Contacts", lifespan=lifespan)


def tag(response: Response, contact: Contact) -> Contact:
    """Set the ETag of a response, and return the contact that it shows."""
    response.headers["ETag"] = f'"{contact.version}"'
    return contact


@app.get("/books/{book}/contacts")
async def list_contacts(
    book: str,
    store: StoreOf,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor: str | None = None,
) -> ContactList:
    """List the contacts of a book, the latest first."""
    page = await store.run(Contact.query(book=book).descending().limit(limit).after(cursor))
    return ContactList(contacts=list(page), next_cursor=page.cursor)


@app.post("/books/{book}/contacts", status_code=201)
async def create_contact(
    book: str, new: NewContact, store: StoreOf, request: Request, response: Response
) -> Contact:
    """Add a contact to a book."""
    contact = Contact(book=book, contact=ContactId.new(), **new.model_dump())
    stored = await store.run(contact.create())
    response.headers["Location"] = f"{request.url.path}/{stored.contact}"
    return tag(response, stored)


@app.get("/books/{book}/contacts/{contact}")
async def read_contact(
    book: str, contact: ContactId, store: StoreOf, response: Response
) -> Contact:
    """Show a contact."""
    found = await store.run(Contact.get(book=book, contact=contact))
    if found is None:
        raise HTTPException(404, "Contact does not exist.")
    return tag(response, found)


@app.patch("/books/{book}/contacts/{contact}")
async def change_contact(
    book: str,
    contact: ContactId,
    patch: ContactPatch,
    store: StoreOf,
    response: Response,
    version: SeenVersion,
) -> Contact:
    """Change the fields that the body has. With If-Match, fail if somebody else was faster."""
    update = Contact.update(book=book, contact=contact).set_from(patch)
    if version is not None:
        update = update.knowing(version=version)
    return tag(response, await store.run(update))


@app.delete("/books/{book}/contacts/{contact}", status_code=204)
async def delete_contact(
    book: str, contact: ContactId, store: StoreOf, version: SeenVersion
) -> None:
    """Delete a contact; one that is gone already is no error, except with If-Match."""
    delete = Contact.delete(book=book, contact=contact)
    if version is not None:
        delete = delete.where(Contact.f.version.eq(version))
    await store.run(delete)


# Errors of the store as responses. Those that are not listed are bugs: they get a 500.

STATUS: dict[type[KeyfoldError], int] = {
    NotFound: 404,
    AccessDenied: 403,
    # AlreadyExists and UniqueTaken, too.
    ConditionFailed: 409,
    VersionConflict: 409,
    OutOfBounds: 422,
    ValueInvalid: 422,
    KeyPartInvalid: 422,
    IdInvalid: 422,
    CursorInvalid: 422,
    SizeExceeded: 413,
    Unavailable: 503,
    Unreachable: 503,
    OutcomeUnknown: 503,
}


def status_of(error: KeyfoldError, *, has_if_match: bool) -> int | None:
    """Return the HTTP status of an error; None if it is a bug of the service."""
    if isinstance(error, TransactionFailed):
        reasons = (each for each in error.reasons if each is not None)
        error = next(reasons, error)
    if has_if_match and type(error) in (ConditionFailed, VersionConflict):
        return 412
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), None)


@app.exception_handler(KeyfoldError)
async def show_error(request: Request, error: KeyfoldError) -> JSONResponse:
    """Return what a client may know of an error: a stable code, and a message without keys."""
    found = status_of(error, has_if_match="if-match" in request.headers)
    if found is None:
        raise error  # The server logs it, and answers 500.
    return JSONResponse({"code": error.code, "message": error.public}, status_code=found)
