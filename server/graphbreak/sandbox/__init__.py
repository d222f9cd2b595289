"""The sandbox around the user's interpreter on Linux, from its first instruction on.

Reading order: `policy` says what a program may do, as plain data made from the settings (`secrets`, `variables` and `keeping` have the
lists); `start` hands that to a launcher, which is the server's own Python with nothing but its standard library; `launcher` puts the
layers in place one after another (`namespaces`, `mounts`, `landlock`, `seccomp`, `limits`), says which of them are in force, and becomes
the user's interpreter; `supervisor` stays beside it, ends what is left over and watches the memory. `system` has the system calls.

Everything that the launcher runs is imported by path (`_LAUNCHED` in the test of the architecture) and knows only the standard library.
"""
