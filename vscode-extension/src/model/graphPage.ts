/** The page of the graph view, as HTML. All text that comes from code is escaped. */

import type { Report, TracedFunction } from "../protocol";
import type { Chain, EagerLink, GraphLink, OperationsOfLine, Reason } from "./chain";
import { graphStyle } from "./graphStyle";
import { torchWords } from "./statusWords";
import { summary } from "./tree";
import { count, origin } from "./words";

export interface Drawn {
  readonly traced: TracedFunction;
  readonly report: Report;
  readonly chain: Chain;
}

/** The page around the content. Nothing may be loaded but our own script, and nothing may be sent anywhere. */
export function frame(content: string, script: string, nonce: string): string {
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}';`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Graphs</title>
<style nonce="${nonce}">${graphStyle()}</style>
</head>
<body>
<main id="content">${content}</main>
<script nonce="${nonce}" src="${escape(script)}"></script>
</body>
</html>`;
}

export function body(name: string, drawn: Drawn | undefined): string {
  if (drawn === undefined) {
    return `<header><h1>${escape(name)}</h1><p>Nothing is known of this function yet. ${button("trace", "Trace it")}</p></header>`;
  }
  const { traced, report, chain } = drawn;
  const links = chain.links.map((link) => (link.type === "graph" ? graph(link) : eager(link)));
  const nothing = links.length > 0 ? "" : `<p class="empty">${escape(traced.detail || "No graph was captured.")}</p>`;
  return `${header(traced, report)}${report.stale ? '<p class="stale">The code has changed since this was traced.</p>' : ""}
<ol class="chain">${links.join("")}</ol>${nothing}${notReached(chain)}`;
}

function header(traced: TracedFunction, report: Report): string {
  const inputs = traced.inputs.map(({ summary: text, source }) => `<code>${escape(text)}</code> <span>(${escape(origin(source))})</span>`).join("<br>");
  return `<header>
<h1>${place(traced.uri, traced.line, 0, escape(traced.name))}</h1>
<p class="facts">${escape(summary(traced))} · ${escape(count(traced.ops, "operation"))}${traced.fullgraph ? " · fullgraph" : ""} · ${escape(torchWords(report.environment))}</p>
${inputs === "" ? "" : `<p class="inputs">${inputs}</p>`}
<p class="actions">${button("trace", "Trace again")} ${button("explain", "Code, guards, bytecode…")}</p>
</header>`;
}

function graph(link: GraphLink): string {
  const lines = link.lines.map(operations).join("");
  return `<li class="graph colour${link.colour}" aria-label="Graph ${link.number}">
<h2>Graph ${link.number} <span>${escape(count(link.count, "operation"))}</span></h2>
${lines === "" ? '<p class="empty">No operations</p>' : `<ul>${lines}</ul>`}</li>`;
}

function operations({ uri, line, where, source, names }: OperationsOfLine): string {
  const chips = names.map((name) => `<span class="op">${escape(name)}</span>`).join(" ");
  if (uri === null) {
    return `<li class="line"><span class="source">(no source line)</span><div class="ops">${chips}</div></li>`;
  }
  const title = `<span class="where">${escape(where)}</span> <code class="source">${escape(source)}</code>`;
  return `<li class="line">${place(uri, line, 0, title)}<div class="ops">${chips}</div></li>`;
}

function eager(link: EagerLink): string {
  const reasons = link.reasons.map(reasonItem).join("");
  const why = reasons === "" ? "Python goes on between two frames" : "Python runs here";
  return `<li class="eager" aria-label="Eager"><h2>Eager <span>${why}</span></h2>${reasons === "" ? "" : `<ul>${reasons}</ul>`}</li>`;
}

function reasonItem({ uri, at, where, source, code, title }: Reason): string {
  const shown = `<span class="where">${escape(where)}</span> <code class="source">${escape(source)}</code>`;
  const rule = code.startsWith("GB") ? `<button class="rule" data-rule="${escape(code)}" title="Open the page on ${escape(code)}">${escape(code)}</button> ` : "";
  return `<li class="line">${place(uri, at.line, at.character, shown)}<p class="reason">${rule}${escape(title)}</p></li>`;
}

function notReached({ notReached: places }: Chain): string {
  if (places.length === 0) {
    return "";
  }
  const items = places.map(({ uri, line, where }) => place(uri, line, 0, escape(where)));
  return `<p class="not-reached">Not reached with these inputs: ${items.join(", ")}</p>`;
}

function place(uri: string, line: number, character: number, html: string): string {
  return `<button class="place" data-uri="${escape(uri)}" data-line="${line}" data-character="${character}">${html}</button>`;
}

function button(action: string, text: string): string {
  return `<button class="action" data-action="${action}">${escape(text)}</button>`;
}

export function escape(text: string): string {
  const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (character) => names[character] ?? character);
}
