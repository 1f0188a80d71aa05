"""Items: reading and writing them, one at a time, by page, in batches and in transactions.

A request's parameters become bound expressions (`keyfold.expressions.parameters`), which are checked
against the keys of the table (`expression_checks`). Its key becomes bytes (`keys`) or, for a query, a
range of bytes (`key_conditions`, `spans`). Writes change a row together with its index entries
(`writes`); pages are read, filtered and projected in one pass (`selection`, `reads`).
`responses` renders the result, and `consumed_capacity` the units that it cost. `query_plans` is the
fast path of Query, and `expiry` deletes expired items.
"""
