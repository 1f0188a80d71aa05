"""Exports, imports and bulk operations: many items between tables and files.

Local folders stand in for S3 buckets (`buckets`). Each kind of work has a stored record
(`work_records`) and a job that runs it in batches (`export_job`, `import_job`, `bulk_job`).
"""
