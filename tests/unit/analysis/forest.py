"""A table of trees and branches, whose patterns take several entities."""

from __future__ import annotations

from keyfold import Entity, Key, Query, Table, Transaction, transaction

table = Table("Forest", key=Key("pk", "sk"))


class Tree(Entity, table=table, key=("TREE#{tree}", "TREE")):
    tree: str


class Branch(Entity, table=table, key=("TREE#{tree}", "BRANCH#{number:03}")):
    tree: str
    number: int


@table.examples
def examples() -> list[Entity]:
    trees = [Tree(tree=name) for name in ("ash", "elm")]
    return [*trees, *(Branch(tree="elm", number=number) for number in range(3))]


@table.pattern("Plant")
def plant(tree: Tree, branches: list[Branch]) -> Transaction:
    return transaction(tree.create(), *(each.create() for each in branches))


@table.pattern("Graft")
def graft(branch: Branch, number: int) -> Transaction:
    new = Branch(tree=branch.tree, number=number)
    return transaction(Branch.delete(tree=branch.tree, number=branch.number), new.create())


@table.pattern("Branches")
def branches_of(tree: str, cursor: str | None) -> Query[Branch]:
    return Branch.query(tree=tree).after(cursor)
