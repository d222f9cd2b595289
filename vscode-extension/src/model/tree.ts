/** What the tree of graph breaks shows, as plain nodes. */

import type { Found, Range, Report, TracedFunction } from "../protocol";
import type { LineText } from "./chain";
import { baseName, count, origin, shortened } from "./words";

export type Grouping = "cause" | "file" | "function";

export interface Node {
  /** Stays the same from one report to the next, so that what is unfolded stays unfolded. */
  readonly id: string;
  readonly type: "break" | "caller" | "function" | "file";
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  readonly icon: string;
  readonly colour?: string;
  readonly target?: { readonly uri: string; readonly range: Range };
  readonly code?: string;
  readonly function?: { readonly uri: string; readonly name: string };
  readonly children: readonly Node[];
}

const ICONS: Readonly<Record<string, readonly [icon: string, colour: string]>> = {
  error: ["error", "problemsErrorIcon.foreground"],
  warning: ["warning", "problemsWarningIcon.foreground"],
  information: ["info", "problemsInfoIcon.foreground"],
  hint: ["lightbulb", "descriptionForeground"],
};

/** The roots of the tree. */
export function tree(reports: readonly Report[], grouping: Grouping, text: LineText): Node[] {
  switch (grouping) {
    case "cause":
      return causes(unique(reports)).map((cause) => causeNode(cause, unique(reports), "", text));
    case "file":
      return byFile(unique(reports), text);
    case "function":
      return reports.flatMap((report) => report.functions.map((traced) => functionNode(traced, report, text)));
  }
}

/** How many causes there are, for the badge. Those that were asked for do not count. */
export function breakCount(reports: readonly Report[]): number {
  return causes(unique(reports)).filter((found) => found.kind !== "intended" && found.kind !== "not-analysed").length;
}

/** The same thing may be found by several runs; it is shown once, with its highest cost. */
function unique(reports: readonly Report[]): Found[] {
  const byKey = new Map<string, Found>();
  for (const found of reports.flatMap((report) => report.diagnostics)) {
    const key = keyOf(found);
    const known = byKey.get(key);
    if (!found.ignored && (known === undefined || compareCost(found, known) < 0)) {
      byKey.set(key, found);
    }
  }
  return [...byKey.values()];
}

/** A cause and its callers share the id. */
function keyOf({ id, kind, uri, range }: Found): string {
  return kind === "caller" ? `${id} ${uri} ${range.start.line}:${range.start.character}` : id;
}

function causes(all: readonly Found[]): Found[] {
  const ids = new Set(all.map(({ id }) => id));
  const first = all.filter((found) => found.kind !== "caller" && (found.causedBy === null || !ids.has(found.causedBy)));
  return first.sort((a, b) => rank(a) - rank(b) || compareCost(a, b));
}

/** What was asked for, and what is not known, comes behind what is wrong. */
function rank(found: Found): number {
  return found.kind === "not-analysed" ? 2 : found.kind === "intended" || found.kind === "unused-ignore" ? 1 : 0;
}

const KINDS: readonly string[] = ["skipped", "break", "raised", "recompile", "intended"];

/** The costliest first: errors, lost frames, breaks in loops, those hit most often, those that cut most. As the server's `core/cost.py`. */
function compareCost(a: Found, b: Found): number {
  const [left, right] = [costKey(a), costKey(b)];
  return left.map((part, place) => part - (right[place] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

function costKey({ severity, kind, cost }: Found): number[] {
  const order = KINDS.includes(kind) ? KINDS.indexOf(kind) : KINDS.length;
  const cut = Math.min(cost?.opsBefore ?? 0, cost?.opsAfter ?? 0);
  return [severity === "error" ? 0 : 1, order, cost?.inLoop ? 0 : 1, -(cost?.hits ?? 1), -cut, -(cost?.graphs ?? 0)];
}

function byFile(all: readonly Found[], text: LineText): Node[] {
  const files = [...new Set(all.map((found) => found.uri))].sort();
  return files.map((uri) => {
    const here = all.filter((found) => found.uri === uri).sort((a, b) => a.range.start.line - b.range.start.line);
    const children = here.map((found) => leaf(found, uri, [], text));
    return { id: uri, type: "file", label: baseName(uri), description: String(here.length), tooltip: "", icon: "file", children };
  });
}

function functionNode(traced: TracedFunction, report: Report, text: LineText): Node {
  const id = `${report.uri} ${traced.name}`;
  const all = unique([report]);
  const own = causes(all).filter((found) => found.functions.includes(traced.name));
  const start = { line: traced.line, character: 0 };
  return {
    id,
    type: "function",
    label: traced.name,
    description: [baseName(traced.uri), summary(traced)].join(" · "),
    tooltip: traced.inputs.map((inputs) => `${inputs.summary} (${origin(inputs.source)})`).join("\n"),
    icon: "symbol-method",
    target: { uri: traced.uri, range: { start, end: start } },
    function: { uri: traced.uri, name: traced.name },
    children: own.map((found) => causeNode(found, all, id, text)),
  };
}

/** A function's result in a few words. */
export function summary(traced: TracedFunction): string {
  if (traced.outcome !== "traced") {
    return traced.outcome.replaceAll("-", " ");
  }
  const breaks = traced.breaks + traced.skipped;
  if (traced.provisional) {
    return `${count(breaks, "break")} so far`;
  }
  const lost = traced.graphs === 0 && traced.skipped > 0;
  return [lost ? "runs eagerly" : count(traced.graphs, "graph"), breaks === 0 ? "no breaks" : count(breaks, "break")].join(" · ");
}

function causeNode(found: Found, all: readonly Found[], parent: string, text: LineText): Node {
  const callers = all.filter((other) => other.kind === "caller" && other.id === found.id);
  const consequences = all.filter((other) => other.kind !== "caller" && other.causedBy === found.id && other.id !== found.id);
  const children = [...callers, ...consequences].map((other) => leaf(other, `${parent} ${found.id}`, [], text));
  return leaf(found, parent, children, text);
}

function leaf(found: Found, parent: string, children: readonly Node[], text: LineText): Node {
  const [icon, colour] = ICONS[found.severity] ?? ["circle-outline", "foreground"];
  const where = `${baseName(found.uri)}:${found.range.start.line + 1}`;
  const reason = found.kind === "caller" ? "inherits it" : shortened(found.gbType || found.message, 90);
  return {
    id: `${parent} ${keyOf(found)}`,
    type: found.kind === "caller" || !found.code.startsWith("GB") ? "caller" : "break",
    label: shortened(expression(found, text) || reason, 32),
    description: [where, ...costWords(found), reason].join(" · "),
    tooltip: found.message,
    icon: found.kind === "caller" ? "arrow-small-right" : icon,
    colour,
    target: { uri: found.uri, range: found.range },
    code: found.code,
    children,
  };
}

/** The source text that the finding stands under, as far as it is on one line. */
function expression({ uri, range: { start, end } }: Found, text: LineText): string {
  const line = text(uri, start.line) ?? "";
  return line.slice(start.character, end.line === start.line ? end.character : undefined).trim();
}

function costWords({ cost }: Found): string[] {
  if (cost === null) {
    return [];
  }
  const hits = cost.hits > 1 ? [`${cost.hits} times`] : [];
  return [...(cost.graphs > 0 ? [count(cost.graphs, "graph")] : []), ...hits, ...(cost.inLoop ? ["in a loop"] : [])];
}
