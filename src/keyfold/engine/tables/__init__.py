"""Tables and indexes: their definitions, settings and descriptions.

`definitions` and `update_checks` validate requests in the service's order. `table` has the stored
form of a table (`TableBody`) and the object that the rest of the engine works with (`EngineTable`);
`extras` has the optional parts of the stored form. `catalog` finds tables by name, and notices the
changes of other processes. `descriptions` renders DescribeTable. `backfill` fills new indexes.
"""
