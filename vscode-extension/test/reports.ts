/** Reports to test with: a function split by one `print`, and called through a helper. */

import type { Found, Region, Report, TracedFunction } from "../src/protocol";

export const FILE = "file:///w/train.py";
const at = (line: number) => ({ start: { line, character: 4 }, end: { line, character: 16 } });

export function found(changes: Partial<Found> = {}): Found {
  return {
    id: "a",
    uri: FILE,
    range: at(6),
    severity: "warning",
    kind: "break",
    code: "GB0059",
    gbType: "Failed to trace builtin operator",
    message: "Graph break: print",
    functions: ["big"],
    causedBy: null,
    ignored: false,
    cost: { graphs: 2, hits: 1, inLoop: false, opsBefore: 1, opsAfter: 1, frames: 1 },
    stack: [],
    ...changes,
  };
}

export function region(start: number, end: number, state: Region["state"], ...graphs: number[]): Region {
  return { uri: FILE, start, end, state, graphs };
}

export function traced(changes: Partial<TracedFunction> = {}): TracedFunction {
  return {
    name: "big",
    uri: FILE,
    line: 4,
    markUri: FILE,
    markRange: at(3),
    outcome: "traced",
    detail: "",
    stopped: null,
    fullgraph: false,
    inputs: [{ source: "call", summary: "x: f32[8, 16]" }],
    graphs: 2,
    ops: 3,
    breaks: 1,
    skipped: 0,
    recompiles: 0,
    provisional: false,
    regions: [region(5, 5, "graph", 1), region(6, 6, "eager"), region(7, 8, "graph", 2)],
    graphList: [
      { number: 1, ops: [{ name: "mul", uri: FILE, line: 5 }, { name: "add", uri: FILE, line: 5 }], endedBy: ["a"] },
      { number: 2, ops: [{ name: "relu", uri: FILE, line: 8 }], endedBy: [] },
    ],
    ...changes,
  };
}

export function report(changes: Partial<Report> = {}): Report {
  return {
    uri: FILE,
    version: 1,
    stale: false,
    provisional: false,
    environment: { python: "3.11.7", torch: "2.13.0", device: "cpu", sandbox: [], notes: [] },
    problems: [],
    functions: [traced()],
    diagnostics: [found()],
    ...changes,
  };
}
