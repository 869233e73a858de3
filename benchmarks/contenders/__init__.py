"""Who competes: one module each, offering the operations it can do as async context managers.

An operation prepares, yields a `once` that the harness times, and cleans up:

- `spawn(argv)`: run a command to its end, with its output; it must have succeeded
- `echo()`: one line typed into a live bash on a PTY, until its answer is there
- `session_command()`: `echo hi` in a live shell, with its exit code
- `drain(argv, tty, size)`: run a producer and take all its output; says how many bytes
- `flood(count, producer, gate)`: as `echo`, while `count` PTY sessions flood
- `idle(count, argv)`: open that many PTY sessions; says what they cost in memory

`LACKS` says why an operation is not there.
"""
