import assert from "node:assert/strict";
import { test } from "node:test";
import { candidates, isNewEnough, namedInterpreter, parseVersion, type Surroundings } from "../src/model/interpreters";

const AROUND: Surroundings = { setting: "", active: undefined, folders: ["/w"], home: "/home/me", windows: false, trusted: true };
const paths = (around: Partial<Surroundings>): string[] => candidates({ ...AROUND, ...around }).map(({ path }) => path);

void test("a setting is final", () => {
  assert.deepEqual(paths({ setting: "/opt/python", active: "/env/bin/python" }), ["/opt/python"]);
});

void test("a setting may start at home or in the folder, or be a command", () => {
  assert.deepEqual(paths({ setting: "~/env/bin/python" }), ["/home/me/env/bin/python"]);
  assert.deepEqual(paths({ setting: "env/bin/python" }), ["/w/env/bin/python"]);
  assert.deepEqual(paths({ setting: "python3.12" }), ["python3.12"]);
});

void test("without one: the selected environment, .venv, the path", () => {
  assert.deepEqual(paths({ active: "/env/bin/python" }), ["/env/bin/python", "/w/.venv/bin/python", "python3", "python"]);
  assert.deepEqual(paths({ windows: true, folders: ["C:/w"] }), ["C:/w/.venv/Scripts/python.exe", "python", "py"]);
});

void test("nothing of an untrusted folder is started", () => {
  assert.deepEqual(paths({ active: "/w/.venv/bin/python", trusted: false }), ["python3", "python"]);
  for (const setting of [".venv/bin/python", "./python", "/w/.venv/bin/python", "/opt/../w/python", "~/w/python"]) {
    assert.deepEqual(paths({ setting, home: "", trusted: false }), ["python3", "python"], setting);
  }
  assert.deepEqual(paths({ setting: "c:\\W\\python.exe", folders: ["C:\\w"], windows: true, trusted: false }), ["python", "py"]);
});

void test("what the user has set counts in an untrusted folder too, where it lies elsewhere", () => {
  for (const setting of ["/opt/python", "/w2/python", "../python", "python3.12"]) {
    assert.equal(paths({ setting, trusted: false }).length, 1, setting);
  }
});

void test("the worker's interpreter is only named where somebody has named one", () => {
  assert.equal(namedInterpreter({ setting: "", active: undefined }), undefined);
  assert.equal(namedInterpreter({ setting: "", active: "/env/bin/python" }), "/env/bin/python");
  assert.equal(namedInterpreter({ setting: "mine", active: "/env/bin/python" }), "mine");
});

void test("versions", () => {
  assert.deepEqual(parseVersion("3.11\n"), { major: 3, minor: 11 });
  assert.equal(parseVersion("Python was not found"), undefined);
  assert.ok(isNewEnough({ major: 3, minor: 10 }) && isNewEnough({ major: 4, minor: 0 }));
  assert.ok(!isNewEnough({ major: 3, minor: 9 }) && !isNewEnough({ major: 2, minor: 14 }));
});
