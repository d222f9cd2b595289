import assert from "node:assert/strict";
import { test } from "node:test";
import { breakCount, type Node, summary, tree } from "../src/model/tree";
import { FILE, found, report, traced } from "./reports";

const cost = (graphs: number) => ({ graphs, hits: 3, inLoop: true, opsBefore: null, opsAfter: null, frames: 1 });
const text = (_: string, line: number): string | undefined => (line === 6 ? "    print(\"log\")" : undefined);
const outline = (nodes: readonly Node[], depth = 0): string[] => nodes.flatMap((node) => [`${" ".repeat(depth)}${node.label} | ${node.description}`, ...outline(node.children, depth + 1)]);

void test("causes by cost, callers behind their cause", () => {
  const caller = found({ kind: "caller", severity: "information", message: "Inherits it", range: { start: { line: 13, character: 8 }, end: { line: 13, character: 15 } }, cost: null });
  const costly = found({ id: "b", gbType: "Data-dependent branching", cost: cost(5) });
  assert.deepEqual(outline(tree([report({ diagnostics: [found(), caller, costly] })], "cause", text)), [
    'print("log") | train.py:7 · 5 graphs · 3 times · in a loop · Data-dependent branching',
    'print("log") | train.py:7 · 2 graphs · Failed to trace builtin operator',
    " inherits it | train.py:14 · inherits it",
  ]);
});

void test("a function that is lost costs more than any break, though it has no graph", () => {
  const lost = found({ id: "b", gbType: "Skipped", kind: "skipped", cost: { graphs: 0, hits: 1, inLoop: false, opsBefore: 0, opsAfter: 0, frames: 1 } });
  const wrong = found({ id: "c", gbType: "Wrong", severity: "error", cost: null });
  const rare = found({ id: "d", gbType: "Rare", cost: { graphs: 9, hits: 1, inLoop: false, opsBefore: 0, opsAfter: 9, frames: 1 } });
  const often = found({ id: "e", gbType: "Often", cost: { ...cost(2), inLoop: false } });
  const reports = [report({ diagnostics: [rare, found(), lost] }), report({ uri: "file:///w/main.py", diagnostics: [often, wrong] })];
  const reasons = tree(reports, "cause", text).map(({ description }) => description.split(" · ").at(-1));
  assert.deepEqual(reasons, ["Wrong", "Skipped", "Often", "Failed to trace builtin operator", "Rare"]);
});

void test("what was asked for comes last and does not count", () => {
  const intended = found({ id: "i", message: "meant", kind: "intended", cost: cost(9) });
  assert.equal(tree([report({ diagnostics: [intended, found()] })], "cause", text)[0]?.tooltip, "Graph break: print");
  assert.equal(breakCount([report({ diagnostics: [intended, found()] })]), 1);
});

void test("consequences stand behind their cause, and alone where it is hidden", () => {
  const follows = found({ id: "c", gbType: "Skipped", causedBy: "a" });
  assert.deepEqual(tree([report({ diagnostics: [found(), follows] })], "cause", text).map(({ children }) => children.length), [1]);
  assert.deepEqual(tree([report({ diagnostics: [found({ ignored: true }), follows] })], "cause", text).map(({ description }) => description), ["train.py:7 · 2 graphs · Skipped"]);
});

void test("one cause found by two runs is shown once", () => {
  assert.equal(tree([report(), report({ uri: "file:///w/main.py" })], "cause", text).length, 1);
});

void test("ids are unique, in every grouping", () => {
  const caller = (line: number) => found({ kind: "caller", range: { start: { line, character: 0 }, end: { line, character: 2 } } });
  const reports = [report({ diagnostics: [found(), caller(1), caller(2)], functions: [traced(), traced({ name: "small" })] })];
  for (const grouping of ["cause", "file", "function"] as const) {
    const ids = (nodes: readonly Node[]): string[] => nodes.flatMap((node) => [node.id, ...ids(node.children)]);
    const all = ids(tree(reports, grouping, text));
    assert.equal(new Set(all).size, all.length, grouping);
  }
});

void test("by file and by function", () => {
  assert.deepEqual(outline(tree([report()], "file", text)), ["train.py | 1", ' print("log") | train.py:7 · 2 graphs · Failed to trace builtin operator']);
  assert.deepEqual(outline(tree([report()], "function", text)), ["big | train.py · 2 graphs · 1 break", ' print("log") | train.py:7 · 2 graphs · Failed to trace builtin operator']);
  assert.deepEqual(tree([report()], "function", text)[0]?.function, { uri: FILE, name: "big" });
});

void test("summaries", () => {
  assert.equal(summary(traced({ breaks: 0, graphs: 1 })), "1 graph · no breaks");
  assert.equal(summary(traced({ breaks: 0, graphs: 0, skipped: 1 })), "runs eagerly · 1 break");
  assert.equal(summary(traced({ outcome: "timed-out" })), "timed out");
  assert.equal(summary(traced({ breaks: 1, skipped: 1, provisional: true })), "2 breaks so far");
});
