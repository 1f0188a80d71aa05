"""Access patterns as a service: each pattern is an HTTP endpoint, and each caller has its tenant."""
