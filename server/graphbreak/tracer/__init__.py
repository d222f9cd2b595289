"""Our side of the pipe: which interpreter a trace uses, the processes it runs in, and the texts it reads.

Reading order: `environment` (interpreters and variables), `connection` (messages over a stream), `forks` and `prepared` (parents that
fork) and `once` (a process per trace), `pool` (which of them are kept ready, and which one a job gets), `files` (what a path says),
`project` (which pyproject.toml counts for it), `engine` (all of it behind one `analyse`).
"""
