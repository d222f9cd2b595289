"""Workers that are none, as data: what each says in place of a trace. `say` sends a message, `job` and `control` are the sockets themselves."""

# ruff: noqa: E501 - a program is easier to read on its line
from __future__ import annotations

STAND_IN = """\
import json, os, socket, struct, sys, time
control = socket.socket(fileno=int(sys.argv[3]))
def frame(name, /, **fields):
    data = json.dumps([name, fields]).encode()
    return struct.pack(">I", len(data)) + data
hello = dict(version={version}, python="3.11.7", torch="2.13.0", device="cpu", pid=1, torch_folder="/t", library_folders=[])
control.send(frame("Hello", **hello))
data, descriptors, _, _ = socket.recv_fds(control, 65536, 2)
job = socket.socket(fileno=descriptors[0])
asked = json.loads(data[4:])[1]["job"]
(length,) = struct.unpack(">I", job.recv(4))
request = json.loads(job.recv(length, socket.MSG_WAITALL))[1]
path = request["path"]
place = dict(file=path, line=7, function="scale", end_line=7, column=4, end_column=16, first_line=4)
def say(name, /, **fields):
    job.sendall(frame(name, **fields))
def mark():
    say("MarkSeen", mark=0, place=dict(place, line=4), file=path, first_line=4, name="scale", fullgraph=False)
    say("CallSeen", mark=0, inputs="x: f32[3]")
def seen(**changes):
    fields = dict(mark=0, compile_id="0/0", attempt=0, text="Graph Break Reason: why", above=[], frames=[place])
    say("BreakSeen", **dict(fields, **changes))
def end(**changes):
    say("Ended", **dict(dict(status=0, files=[path], modules=[]), **changes))
"""

SCRIPTS = {
    "garbage": "job.sendall(os.urandom(100_000))",
    "half a message": "job.sendall(frame('CallSeen', mark=0, inputs='x')[:-5])",
    "half a length": "job.sendall(b'\\0\\0')",
    "an endless message": "job.sendall(b'\\xff\\xff\\xff\\xff')",
    "a message of nothing": "job.sendall(b'\\0\\0\\0\\0')",
    "no message": "job.close()",
    "silence": "time.sleep(60)",
    "an unknown message": "say('Hack')",
    "a message for the other side": "say('Fork', job=1); say('Kill', job=1); end()",
    "wrong types": "say('CallSeen', mark='0', inputs=3)",
    "missing fields": "say('CallSeen')",
    "further fields": "say('CallSeen', mark=0, inputs='x', more=1)",
    "not a number": "job.sendall(frame('FrameCompiled', mark=0, compile_id='', function='f', file=path, first_line=1, ops=1, seconds=float('nan')))",
    "a number too large": "mark(); seen(attempt=10 ** 400); end()",
    "deep nesting": "data = b'[' * 1_000_000; job.sendall(struct.pack('>I', len(data)) + data)",
    "lines that are not there": "mark(); [seen(frames=[dict(place, line=line, end_line=line)]) for line in (-5, 0, 10 ** 6, 2 ** 40)]; end()",
    "columns that are not there": "mark(); [seen(frames=[dict(place, column=c, end_column=c)]) for c in (-1, 10 ** 6, 2 ** 50)]; end()",
    "places elsewhere": "mark(); [seen(frames=[dict(place, file=f)]) for f in ('/etc/shadow', '../../x', '', 'a\\0b', '/dev/zero', 'x' * 9999)]; end()",
    "files elsewhere": "mark(); end(files=['/etc/shadow', '\\0', '/dev/zero', '/proc/self/mem'] + ['/x%d' % n for n in range(5000)])",
    "an unknown mark": "seen(mark=77); say('CallSeen', mark=-3, inputs='x'); end()",
    "a mark of a module that is not there": "say('MarkSeen', mark=0, place=dict(place, file='/no/x.py'), file='/no/x.py', first_line=-4, name='', fullgraph=False); end()",
    "a second greeting": "job.sendall(frame('Hello', **hello)); end()",
    "two ends": "mark(); end(); end(); mark()",
    "an end of another kind": "mark(); end(status=-99999, notes=['x' * 10_000] * 100, stopped='y' * 10_000)",
    "another job's end": "control.send(frame('Exited', job=99, status=0)); mark(); end()",
    "its own end, twice": "[control.send(frame('Exited', job=asked, status=2 ** 40)) for _ in range(3)]; time.sleep(1)",
    "garbage on the control socket": "control.send(b'garbage'); time.sleep(5)",
    "many breaks": "mark(); [seen(frames=[dict(place, line=n % 9 + 1, function='f%d' % n)], compile_id='%d/0' % n) for n in range(3000)]; end()",
    "breaks and breaks": "mark(); data = b''.join(frame('BreakSeen', mark=0, compile_id='%d/0' % n, attempt=0, text='Graph Break Reason: why %d' % n, above=[], frames=[dict(place, line=n % 9 + 1, function='f%d' % n)]) for n in range(20_000)); job.sendall(data); end()",
    "a large graph": "mark(); say('GraphSeen', mark=0, compile_id='0/0', lines=[[path, n % 9 + 1] for n in range(9000)], ops=[['torch.sin', path, n % 9 + 1] for n in range(5001)]); end()",
    "many large graphs": "mark(); data = b''.join(frame('GraphSeen', mark=0, compile_id='%d/0' % n, lines=[[path, 7]], ops=[['torch.sin', path, 7]] * 5001) for n in range(100)); job.sendall(data); end()",
    "a graph too large": "mark(); say('GraphSeen', mark=0, compile_id='0/0', lines=[], ops=[['', '', 1]] * 300_000); end()",
    "a text too large": "mark(); seen(text='x' * 6_000_000); end()",
    "long texts": "mark(); seen(text='Graph Break Reason: ' + 'why ' * 500_000, registry_hints=['h' * 9999] * 200); say('CallSeen', mark=0, inputs='y' * 1_000_000); end()",
    "a stack without end": "mark(); seen(frames=[dict(place, line=n % 9 + 1, function='f%d' % n) for n in range(5000)]); end()",
    "a flood of exits": "data = frame('Spare', ready=True)\nwhile True: control.send(data)",
    "a flood of little": "mark(); data = frame('CallSeen', mark=0, inputs='x') * 1000\nwhile True: job.sendall(data)",
    "a flood": "while True: say('CallSeen', mark=0, inputs='x' * 50_000)",
    "markdown": 'mark(); seen(text=\'Graph Break Reason: [run](command:evil) ![i](http://127.0.0.1/i.png) <img src=x> `a` ``b`` <a href="command:x">y</a>'
    "\\n  Explanation: [a](command:b)\\n  Hint: ![x](y)\\n', registry_id='GB1`](command:evil)', registry_explanation='[c](command:d)',"
    " frames=[dict(place, function='`[f](command:g)`')]); end()",
    "control characters": "mark(); seen(text='Graph Break Reason: \\x1b[31m\\x00\\u202e\\ud800 x'); end()",
}
