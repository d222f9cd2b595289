/** What the server speaks beyond the standard protocol. Mirrors the server's `lsp/extensions.py`. */

export const STATUS = "graphbreak/status";
export const ENVIRONMENT = "graphbreak/environment";
export const NO_ENVIRONMENT = "graphbreak/noEnvironment";
export const TRYING = "graphbreak/trying";
export const ACTIVE = "graphbreak/active";
export const CHANGED = "graphbreak/changed";
export const REPORT = "graphbreak/report";
export const EXPLAIN = "graphbreak/explain";
export const RULE = "graphbreak/rule";

/** The kind of the code action that applies every safe fix of a file. */
export const FIX_ALL = "source.fixAll.graphbreak";

/** Commands of the server. Those that the extension offers under a similar name are others, since a name can be registered once. */
export const TRACE = "graphbreak.trace";
export const TRACE_WORKSPACE = "graphbreak.traceWorkspace";
export const CANCEL = "graphbreak.cancel";

export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

export type TraceState = "tracing" | "idle" | "failed";

export interface Status {
  readonly uri: string;
  readonly state: TraceState;
  readonly message: string;
}

export interface Environment {
  readonly uri?: string;
  readonly python: string | null;
  readonly torch: string | null;
  readonly device: string | null;
  readonly sandbox: readonly string[];
  readonly notes: readonly string[];
}

export type Kind = "break" | "skipped" | "caller" | "recompile" | "raised" | "intended" | "not-analysed" | "unused-ignore";
export type Severity = "error" | "warning" | "information" | "hint";

export interface Region {
  readonly uri: string;
  /** First and last line, counted from 0, both inside. */
  readonly start: number;
  readonly end: number;
  readonly state: "graph" | "eager" | "not-reached";
  readonly graphs: readonly number[];
}

export interface Operation {
  readonly name: string;
  readonly uri: string | null;
  readonly line: number;
}

export interface Graph {
  readonly number: number;
  readonly ops: readonly Operation[];
  /** Ids of the diagnostics that end this graph. */
  readonly endedBy: readonly string[];
}

export interface TracedFunction {
  readonly name: string;
  readonly uri: string;
  readonly line: number;
  readonly markUri: string;
  readonly markRange: Range;
  readonly outcome: string;
  readonly detail: string;
  readonly stopped: string | null;
  readonly fullgraph: boolean;
  readonly inputs: readonly { readonly source: string; readonly summary: string }[];
  readonly graphs: number;
  readonly ops: number;
  readonly breaks: number;
  readonly skipped: number;
  readonly recompiles: number;
  /** The run that shows it still goes on, or was ended: what it says is only so far. */
  readonly provisional: boolean;
  readonly regions: readonly Region[];
  readonly graphList: readonly Graph[];
}

export interface Cost {
  readonly graphs: number;
  readonly hits: number;
  readonly inLoop: boolean;
  readonly opsBefore: number | null;
  readonly opsAfter: number | null;
  readonly frames: number;
}

export interface Frame {
  readonly uri: string;
  readonly line: number;
  readonly function: string;
  readonly library: boolean;
}

export interface Found {
  /** The same for a cause and for the callers that inherit it. */
  readonly id: string;
  readonly uri: string;
  readonly range: Range;
  readonly severity: Severity;
  readonly kind: Kind;
  readonly code: string;
  readonly gbType: string;
  readonly message: string;
  readonly functions: readonly string[];
  /** The id of the cause that this one follows from, where it does. */
  readonly causedBy: string | null;
  readonly ignored: boolean;
  readonly cost: Cost | null;
  readonly stack: readonly Frame[];
}

/** What one run of one file found; the file is `uri`. */
export interface Report {
  readonly uri: string;
  readonly version: number | null;
  readonly stale: boolean;
  /** What was known before, with what a run that still goes on has shown so far. */
  readonly provisional: boolean;
  readonly environment: Environment;
  readonly problems: readonly string[];
  readonly functions: readonly TracedFunction[];
  readonly diagnostics: readonly Found[];
}

export type Detail = "graphs" | "guards" | "bytecode" | "decompiled";

export interface Artifact {
  readonly name: string;
  readonly compileId: string;
  readonly text: string;
}

export interface Explanation {
  readonly report: string;
  readonly artifacts: readonly Artifact[];
  readonly problem: string | null;
}
