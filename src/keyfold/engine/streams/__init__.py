"""Streams: the log of a table's changes, and the shards, iterators and records of the API.

Writes append to the change log (`change_log`), which point-in-time recovery reads as well.
`lifecycle` opens and closes streams, `shards` divides a log by the hash of its partition keys,
`iterators` are positions in a shard, and `records` renders changes as stream records. `kinesis`
keeps the destinations of Kinesis Data Streams, to which nothing is sent.
"""
