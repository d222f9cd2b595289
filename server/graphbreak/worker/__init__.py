"""The worker: runs inside the user's own interpreter and traces their code with their torch.

It may import the standard library, torch and itself, and nothing else: each further import would be a risk to the
environment it is a guest in. It runs on Python 3.10 to 3.14 and torch 2.8 and newer, with nothing installed there.
`protocol` is the only module that the server imports too.

Reading order: `__main__` (start by path), `loop` (how a worker starts), `parent` (the prepared parent, its forks and the one that it keeps
ahead; `processes`, `warming`), `job` (one trace),
`user_module` and `overlay` (whose text is run, and as what), `session` (what is put around the program), `compiling` and `listening`
(what is heard), `recorder` (what is sent back), `marks` (which callable is which), `stacks` and `specs`
(places and inputs as plain values), `dynamo` (every private torch name). `hook`, `recording`, `origins` and `samples` run in the user's own
process under `graphbreak record`; `rebuilding` makes what they noted again.
"""
