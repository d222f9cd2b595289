import assert from "node:assert/strict";
import { test } from "node:test";
import { chain } from "../src/model/chain";
import { body, escape, frame } from "../src/model/graphPage";
import type { Report, TracedFunction } from "../src/protocol";
import { FILE, found, region, report, traced } from "./reports";

const text = (_: string, line: number): string => `    line ${line}`;
const links = (of: TracedFunction, all: Report): unknown[] =>
  chain(of, all, text).links.map((link) => (link.type === "graph" ? [link.number, ...link.lines.map(({ source, names }) => `${source}: ${names.join()}`)] : link.reasons.map(({ where }) => where)));

void test("graph, gap, graph", () => {
  assert.deepEqual(links(traced(), report()), [[1, "line 5: mul,add"], ["train.py:7"], [2, "line 8: relu"]]);
});

void test("callers are no reasons of their own", () => {
  assert.deepEqual(links(traced(), report({ diagnostics: [found(), found({ kind: "caller" })] }))[1], ["train.py:7"]);
});

void test("a break before the first graph, and a function without any", () => {
  const only = traced({ graphList: [{ number: 1, ops: [], endedBy: [] }] });
  assert.deepEqual(links(only, report()), [["train.py:7"], [1]]);
  assert.deepEqual(links(traced({ graphList: [] }), report({ diagnostics: [found({ kind: "skipped" })] })), [["train.py:7"]]);
});

void test("two graphs without a known reason have a gap all the same", () => {
  assert.deepEqual(links(traced(), report({ diagnostics: [] }))[1], []);
});

void test("lines that were not reached", () => {
  const { notReached } = chain(traced({ regions: [region(2, 2, "not-reached"), region(4, 6, "not-reached")] }), report(), text);
  assert.deepEqual(notReached.map(({ where }) => where), ["train.py:3", "train.py:5–7"]);
});

void test("the page escapes what comes from code", () => {
  const evil = traced({ name: '<img src=x onerror="alert(1)">' });
  const html = body(evil.name, { traced: evil, report: report(), chain: chain(evil, report(), () => "<script>") });
  assert.ok(!html.includes("<img") && !html.includes("<script>"));
  assert.equal(escape(`<&"'>`), "&lt;&amp;&quot;&#39;&gt;");
});

void test("the page loads nothing but its own script", () => {
  const html = frame("", "vscode-resource:/graphView.js", "abc");
  assert.match(html, /default-src 'none'; style-src 'nonce-abc'; script-src 'nonce-abc';/);
  assert.equal(html.match(/<script/g)?.length, 1);
});

void test("places carry their file, line and column", () => {
  const html = body("big", { traced: traced(), report: report(), chain: chain(traced(), report(), text) });
  assert.ok(html.includes(`data-uri="${FILE}" data-line="6" data-character="4"`));
  assert.ok(html.includes('data-rule="GB0059"'));
});
