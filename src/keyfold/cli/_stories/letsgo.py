"""A tenant's life: it is founded, invites somebody, changes hands, and is deleted."""

from __future__ import annotations

from datetime import timedelta

from keyfold.cli._stories.teller import Actor, Story, Teller
from keyfold.designs import letsgo
from keyfold.designs.letsgo import (
    AnyItem,
    Identity,
    Invitation,
    Subject,
    SubscriptionPlan,
    Tenant,
    make_identity_id,
)
from keyfold.errors import AccessDenied, TransactionFailed, WriteRefused

_TENANT, _OTHER = "ten-otters", "ten-foxes"
_ISSUER = "https://login.letsgo.example/"
_ADA, _BOB = (Subject(iss=_ISSUER, sub=name) for name in ("ada", "bob"))
_ADA_ID, _BOB_ID = make_identity_id(_ADA), make_identity_id(_BOB)


def _tell(story: Teller) -> None:
    platform = story.actor("The platform")
    ada = _tell_beginning(story, platform)
    bob = _tell_invitation(story, platform, ada)
    _tell_end(story, platform, bob)


def _tell_beginning(story: Teller, platform: Actor) -> Actor:
    profile = Identity(identity_id=_ADA_ID, user={"name": "Ada"})
    signed_up = story.actor("Ada", "identity", identity_id=_ADA_ID)
    story.step(signed_up, "signs up.", letsgo.put_identity, profile)
    tenant = Tenant(tenant_id=_TENANT, created_by=_ADA)
    story.step(platform, "creates a tenant for her.", letsgo.create_tenant, tenant)
    story.step(
        platform, "makes her its first member.", letsgo.add_identity_to_tenant, _TENANT, _ADA_ID
    )
    story.read(
        signed_up,
        "looks where she belongs.",
        "she has one tenant",
        lambda mine: [each.tenant_id for each in mine] == [_TENANT],
        letsgo.list_tenants_of_identity,
        _ADA_ID,
    )
    ada = story.actor(
        "Ada, a member", "identity", "tenant-member", identity_id=_ADA_ID, tenant_id=_TENANT
    )
    named = story.step(
        ada, "names the tenant.", letsgo.update_tenant, _TENANT, "Otters", None, _ADA
    )
    story.check(named.display_name == "Otters", "it has its name")
    plan = SubscriptionPlan(plan_id="business")
    text = "gives it a plan that nobody has paid for."
    story.refused(ada, text, AccessDenied, letsgo.update_tenant, _TENANT, None, plan)
    paid = story.step(
        platform, "sets the plan once it is paid.", letsgo.update_tenant, _TENANT, None, plan
    )
    story.check(paid.display_name == "Otters", "the rest of the tenant stays")
    return ada


def _tell_invitation(story: Teller, platform: Actor, ada: Actor) -> Actor:
    offer = Invitation(tenant_id=_TENANT, created_by=_ADA)
    first = story.step(ada, "invites Bob.", letsgo.create_invitation, offer)
    story.later("Bob reads his mail the day after.", timedelta(hours=25))
    text = "accepts the invitation for Bob."
    late = (_TENANT, first.invitation_id, _BOB_ID)
    story.refused(platform, text, TransactionFailed, letsgo.accept_invitation, *late)
    offer = Invitation(tenant_id=_TENANT, created_by=_ADA)
    again = story.step(ada, "invites him again.", letsgo.create_invitation, offer)
    story.read(
        ada,
        "looks at her invitations.",
        "one is valid",
        lambda listed: [each.invitation_id for each in listed] == [again.invitation_id],
        letsgo.list_invitations,
        _TENANT,
    )
    story.step(platform, text, letsgo.accept_invitation, _TENANT, again.invitation_id, _BOB_ID)
    bob = story.actor("Bob", "tenant-member", tenant_id=_TENANT)
    story.read(
        bob,
        "looks who is here.",
        "both of them are",
        lambda members: {each.identity_id for each in members} == {_ADA_ID, _BOB_ID},
        letsgo.list_identities_of_tenant,
        _TENANT,
    )
    story.refused(
        bob, "looks into another tenant.", AccessDenied, letsgo.list_identities_of_tenant, _OTHER
    )
    return bob


def _tell_end(story: Teller, platform: Actor, bob: Actor) -> None:
    loose = AnyItem.of("letsgo-tenant-identity", f"/{_OTHER}/{_BOB_ID}")
    story.refused(platform, "makes a member by hand.", WriteRefused, letsgo.put_item, loose)
    text = "removes Ada, who has left."
    story.step(bob, text, letsgo.remove_identity_from_tenant, _TENANT, _ADA_ID)
    story.step(bob, "deletes the tenant.", letsgo.delete_tenant, _TENANT, _BOB)
    story.read(
        platform,
        "looks for the tenant.",
        "it is deleted",
        lambda found: found is None,
        letsgo.get_tenant,
        _TENANT,
    )
    story.read(
        platform,
        "asks the archive.",
        "the item remains, and says who did it",
        lambda kept: kept is not None and kept.deleted_by == _BOB,
        letsgo.get_tenant,
        _TENANT,
        include_deleted=True,
    )


STORY = Story("A tenant's life", letsgo.table, _tell)
