import assert from "node:assert/strict";
import { test } from "node:test";
import { functionAt, functionNamed } from "../src/model/functions";
import { withPageLinks } from "../src/model/hoverLinks";
import { argumentsOf } from "../src/model/inputs";
import { fromQuery, type Page, toParts } from "../src/model/pageUris";
import { environmentWords, type Facts, statusMarkdown, statusWords } from "../src/model/statusWords";
import { baseName, shortened } from "../src/model/words";
import { FILE, report, traced } from "./reports";

const FACTS: Facts = { state: "idle", message: "", environment: report().environment, breaks: 2, traced: 3, notTraced: 1, trying: false };

void test("the status bar", () => {
  assert.match(statusWords(FACTS).bar, /2 graph breaks$/);
  assert.match(statusWords({ ...FACTS, breaks: 0 }).bar, /1 not analysed$/);
  assert.match(statusWords({ ...FACTS, breaks: 0, notTraced: 0 }).bar, /No graph breaks$/);
  assert.match(statusWords({ ...FACTS, breaks: 0, traced: 0, notTraced: 0 }).bar, /Graphbreak$/);
  const bare: Facts = { ...FACTS, environment: { python: null, torch: null, device: null, sandbox: [], notes: [] }, breaks: 0, traced: 0 };
  assert.match(statusWords(bare).bar, /No torch$/);
  assert.match(statusWords({ ...bare, traced: 1 }).bar, /1 not analysed$/);
  assert.equal(statusWords({ ...FACTS, state: "stopped" }).severity, "error");
  assert.equal(statusWords({ ...FACTS, state: "failed", message: "why" }).headline, "why");
  assert.equal(statusWords({ ...FACTS, trying: true }).headline, "2 graph breaks · trying fixes");
  assert.match(statusWords({ ...FACTS, state: "restricted" }).headline, /nothing of it is run/);
});

void test("the environment", () => {
  assert.deepEqual(environmentWords(report().environment), ["torch 2.13.0 · cpu · Python 3.11.7", "Sandbox: own process only"]);
  assert.deepEqual(environmentWords({ python: "", torch: "", device: "", sandbox: ["no network"], notes: ["A note."] }), ["no torch", "Sandbox: no network", "A note."]);
  assert.match(statusMarkdown(statusWords(FACTS), "idle"), /torch 2\\\.13\\\.0/);
  assert.match(statusMarkdown(statusWords(FACTS), "tracing"), /\[Cancel\]\(command:graphbreak\.cancelTrace\)/);
});

void test("the hover's sentence for the command line becomes a link", () => {
  const text = withPageLinks("`graphbreak rule GB0059` shows an example.");
  assert.equal(text, "[Open the page on GB0059, with an example](command:graphbreak.showRule?%5B%22GB0059%22%5D)");
  assert.equal(withPageLinks("nothing"), "nothing");
});

void test("where the arguments of a directive are", () => {
  const line = "    # graphbreak: Net(dim=32)(torch.randn(4, 32))  # ok";
  const { start, end } = argumentsOf(line);
  assert.equal(line.slice(start, end), "torch.randn(4, 32)");
  assert.deepEqual(argumentsOf("# nothing"), { start: 9, end: 9 });
  assert.deepEqual(argumentsOf("f()"), { start: 2, end: 2 });
});

void test("addresses of pages go there and back", () => {
  const rule: Page = { type: "rule", code: "GB0059" };
  const explain: Page = { type: "explain", uri: FILE, name: "Net.forward", artifact: "graph 0/0" };
  for (const page of [rule, explain]) {
    assert.deepEqual(fromQuery(toParts(page).query), page);
  }
  assert.equal(toParts(rule).path, "/rule/GB0059.md");
  assert.equal(toParts(explain).path, "/explain/Net.forward/graph 0_0.py");
  assert.equal(fromQuery("{"), undefined);
  assert.equal(fromQuery('{"type":"rule"}'), undefined);
});

void test("the function at a line", () => {
  const below = traced({ name: "small", line: 20, markRange: { start: { line: 19, character: 0 }, end: { line: 19, character: 5 } }, regions: [] });
  const reports = [report({ functions: [traced(), below] })];
  assert.equal(functionAt(reports, FILE, 6)?.traced.name, "big");
  assert.equal(functionAt(reports, FILE, 19)?.traced.name, "small");
  assert.equal(functionAt(reports, FILE, 1), undefined);
  assert.equal(functionAt(reports, "file:///w/other.py", 6), undefined);
  assert.equal(functionNamed(reports, FILE, "small")?.traced, below);
});

void test("words", () => {
  assert.equal(baseName("file:///a/b%20c.py"), "b c.py");
  assert.equal(baseName("file:///a/100%.py"), "100%.py");
  assert.equal(shortened("one\ntwo", 10), "one");
  assert.equal(shortened("123456789", 5), "1234…");
});
