import assert from "node:assert/strict";
import { test } from "node:test";
import { launch } from "../src/model/launch";
import { MOST_RESTARTS, Restarts } from "../src/model/restarts";
import { forServer } from "../src/model/serverSettings";

void test("the bundled server runs isolated, an installed one from a folder of ours", () => {
  assert.deepEqual(launch("py", "useBundled", "/x/bundled"), { command: "py", args: ["-I", "/x/bundled/run_server.py"], cwd: "/x/bundled" });
  assert.deepEqual(launch("py", "fromEnvironment", "/x/bundled"), { command: "py", args: ["-m", "graphbreak", "server"], cwd: "/x/bundled" });
});

void test("restarts come after longer and longer pauses, and end", () => {
  const restarts = new Restarts(() => 1000);
  restarts.started();
  const pauses = Array.from({ length: MOST_RESTARTS + 1 }, () => restarts.next());
  assert.deepEqual(pauses, [500, 1000, 2000, 4000, 8000, undefined]);
});

void test("a server that ran for long, or that the user started, begins anew", () => {
  let now = 1000;
  const restarts = new Restarts(() => now);
  restarts.started();
  assert.equal(restarts.next(), 500);
  now += 3 * 60_000;
  assert.equal(restarts.next(), 500);
  restarts.started();
  assert.equal(restarts.next(), 1000);
  restarts.forget();
  assert.equal(restarts.next(), 500);
});

void test("the server gets what it knows", () => {
  const all = { run: "onType", interpreter: "", importStrategy: "useBundled", timeout: 5, device: "cpu", sandbox: { network: true }, ignore: [], severity: { caller: "off" }, lens: { enable: false }, bands: { enable: true }, trace: { server: "off" } };
  assert.deepEqual(forServer(all, undefined), { run: "onType", timeout: 5, device: "cpu", sandbox: { network: true }, ignore: [], severity: { caller: "off" }, lens: false });
  assert.deepEqual(forServer({}, "/env/bin/python"), { interpreter: "/env/bin/python" });
});
