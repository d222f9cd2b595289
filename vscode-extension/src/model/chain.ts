/** A function as it runs: graph, eager gap, graph, ... */

import type { Found, Graph, Operation, Position, Region, Report, TracedFunction } from "../protocol";
import { colourOf } from "./bands";
import { baseName } from "./words";

/** Gives the text of a source line, or nothing where the file cannot be read. */
export type LineText = (uri: string, line: number) => string | undefined;

export interface OperationsOfLine {
  readonly uri: string | null;
  readonly line: number;
  readonly where: string;
  readonly source: string;
  readonly names: readonly string[];
}

export interface GraphLink {
  readonly type: "graph";
  readonly number: number;
  readonly colour: number;
  readonly count: number;
  readonly lines: readonly OperationsOfLine[];
}

export interface Reason {
  readonly uri: string;
  readonly at: Position;
  readonly where: string;
  readonly source: string;
  readonly code: string;
  readonly title: string;
}

export interface EagerLink {
  readonly type: "eager";
  readonly reasons: readonly Reason[];
}

export interface Chain {
  readonly links: readonly (GraphLink | EagerLink)[];
  /** Lines of the function that the call did not reach. */
  readonly notReached: readonly { readonly uri: string; readonly line: number; readonly where: string }[];
}

/** The chain of a function. Between two graphs there is always a gap, known reason or not: else they would be one graph. */
export function chain(traced: TracedFunction, report: Report, text: LineText): Chain {
  const links: (GraphLink | EagerLink)[] = [];
  const graphs = [...traced.graphList].sort((a, b) => a.number - b.number);
  const own = report.diagnostics.filter((found) => found.functions.includes(traced.name) && isCause(found));
  const told = new Set(graphs.flatMap((graph) => graph.endedBy));
  const before = own.filter((found) => !told.has(found.id));
  if (before.length > 0 && graphs.length <= 1) {
    links.push(gap(before, text));
  }
  graphs.forEach((graph, place) => {
    links.push(graphLink(graph, text));
    const reasons = graph.endedBy.flatMap((id) => report.diagnostics.filter((found) => found.id === id && found.kind !== "caller"));
    if (reasons.length > 0 || place < graphs.length - 1) {
      links.push(gap(reasons, text));
    }
  });
  return { links, notReached: traced.regions.filter((region) => region.state === "not-reached").map(place) };
}

function isCause(found: Found): boolean {
  return found.kind === "break" || found.kind === "skipped" || found.kind === "raised" || found.kind === "intended";
}

function place(region: Region): Chain["notReached"][number] {
  const lines = region.start === region.end ? String(region.start + 1) : `${region.start + 1}–${region.end + 1}`;
  return { uri: region.uri, line: region.start, where: `${baseName(region.uri)}:${lines}` };
}

function gap(reasons: readonly Found[], text: LineText): EagerLink {
  return { type: "eager", reasons: reasons.map((found) => reason(found, text)) };
}

function reason(found: Found, text: LineText): Reason {
  const line = found.range.start.line;
  return {
    uri: found.uri,
    at: found.range.start,
    where: `${baseName(found.uri)}:${line + 1}`,
    source: (text(found.uri, line) ?? "").trim(),
    code: found.code,
    title: found.gbType || found.message,
  };
}

function graphLink(graph: Graph, text: LineText): GraphLink {
  return { type: "graph", number: graph.number, colour: colourOf(graph.number), count: graph.ops.length, lines: byLine(graph.ops, text) };
}

/** Operations in their order, those of one line together as long as no other line comes between. */
function byLine(operations: readonly Operation[], text: LineText): OperationsOfLine[] {
  const groups: { operation: Operation; names: string[] }[] = [];
  for (const operation of operations) {
    const last = groups.at(-1);
    if (last?.operation.uri === operation.uri && last.operation.line === operation.line) {
      last.names.push(operation.name);
    } else {
      groups.push({ operation, names: [operation.name] });
    }
  }
  return groups.map(({ operation, names }) => ({
    uri: operation.uri,
    line: operation.line,
    where: operation.uri === null ? "" : `${baseName(operation.uri)}:${operation.line + 1}`,
    source: operation.uri === null ? "" : (text(operation.uri, operation.line) ?? "").trim(),
    names,
  }));
}
