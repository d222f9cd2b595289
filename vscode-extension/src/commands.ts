/** Every command, in one table. */

import * as vscode from "vscode";
import type { BreaksTree } from "./breaksTree";
import type { Explanations } from "./explanations";
import type { Fixes } from "./fixes";
import type { GraphPanel } from "./graphPanel";
import { argumentsAtCursor, editInputs, type InputsArguments } from "./inputsEditor";
import { type Choice, functionAt, functionNamed } from "./model/functions";
import type { Node } from "./model/tree";
import * as notices from "./notices";
import type { Pages } from "./pages";
import { cursor, findingAtCursor, toRange } from "./places";
import { chooseInterpreter } from "./pythonExtension";
import { CANCEL, TRACE, TRACE_WORKSPACE } from "./protocol";
import type { Reports } from "./reports";
import { openSample } from "./sample";
import type { Server } from "./server";
import { SECTION, settings } from "./settings";

export interface Parts {
  readonly context: vscode.ExtensionContext;
  readonly log: vscode.LogOutputChannel;
  readonly server: Server;
  readonly reports: Reports;
  readonly breaks: BreaksTree;
  readonly graphs: GraphPanel;
  readonly pages: Pages;
  readonly explanations: Explanations;
  readonly fixes: Fixes;
}

type Command = (...parameters: never[]) => unknown;

export function registerCommands(parts: Parts): vscode.Disposable {
  const table = { ...traceCommands(parts), ...showCommands(parts), ...otherCommands(parts) };
  const registrations = Object.entries<Command>(table).map(([name, run]) => vscode.commands.registerCommand(`${SECTION}.${name}`, run));
  return vscode.Disposable.from(...registrations);
}

function traceCommands(parts: Parts): Record<string, Command> {
  const { server, reports } = parts;
  return {
    traceFile: (uri?: string) => trace(server, typeof uri === "string" ? uri : cursor()?.uri),
    traceFunction: (node?: Node) => traceFunction(parts, named(reports, node) ?? atCursor(reports)),
    traceAll: () => server.command(TRACE_WORKSPACE),
    cancelTrace: () => server.command(CANCEL),
    restartServer: () => server.restart(),
    editInputs: async (...parameters: [] | [...InputsArguments]) => {
      const known = parameters.length === 0 ? await argumentsAtCursor(server) : parameters;
      await (known === undefined ? notices.hint("There is no compiled function in this file.") : editInputs(known));
    },
  };
}

function showCommands({ reports, graphs, pages, explanations }: Parts): Record<string, Command> {
  return {
    showGraphs: async (where?: string | Node, name?: string) => {
      const choice = await choose(reports, where, name);
      return choice && graphs.show(choice.traced.uri, choice.traced.name);
    },
    explain: async (where?: string | Node, name?: string) => {
      const choice = await choose(reports, where, name);
      return choice && explanations.explain(choice);
    },
    showRule: async (what?: string | Node) => {
      const code = typeof what === "string" ? what : (what?.code ?? codeAtCursor());
      await (code === undefined ? notices.hint("There is no graph break at the cursor.") : pages.showRule(code));
    },
  };
}

function otherCommands({ context, log, breaks, fixes }: Parts): Record<string, Command> {
  return {
    showLogs: () => { log.show(true); },
    toggleBands: () => settings.setBands(!settings.bands()),
    openSettings: () => vscode.commands.executeCommand("workbench.action.openSettings", `@ext:${context.extension.id}`),
    chooseInterpreter: () => chooseInterpreter(),
    fixAll: async (node?: Node) => {
      const uri = node?.target?.uri ?? cursor()?.uri;
      await (uri === undefined ? notices.hint("Open a Python file to fix it.") : fixes.fixAll(vscode.Uri.parse(uri)));
    },
    // Nobody waits for it: when a command ends, the walkthrough that ran it takes the focus back, and the list would close.
    showFixes: (node?: Node) => {
      const { uri, range } = node?.target ?? {};
      const at = uri === undefined || range === undefined ? findingAtCursor() : { uri: vscode.Uri.parse(uri), range: toRange(range) };
      void (at === undefined ? notices.hint("There is no graph break at the cursor.") : fixes.show(at));
    },
    openSample: () => openSample(context),
    showMenu: () => showMenu(),
    groupByCause: () => { breaks.group("cause"); },
    groupByFile: () => { breaks.group("file"); },
    groupByFunction: () => { breaks.group("function"); },
  };
}

/** The function alone: where only it is marked for example calls, only those are run. Where it is not known yet, the server finds it. */
async function traceFunction({ server, graphs }: Parts, choice: Choice | undefined): Promise<void> {
  const at = cursor();
  const uri = choice?.report.uri ?? at?.uri;
  if (uri === undefined) {
    return notices.hint("Open a Python file to trace a function of it.");
  }
  const answer = await server.command(TRACE, uri, choice?.traced.name ?? at?.line);
  const name = choice?.traced.name ?? answer;
  await (typeof name === "string" ? graphs.show(choice?.traced.uri ?? uri, name) : notices.hint("There is no compiled function in this file."));
}

async function trace(server: Server, uri: string | undefined): Promise<void> {
  await (uri === undefined ? notices.hint("Open a Python file to trace it.") : server.command(TRACE, uri));
}

function atCursor(reports: Reports): Choice | undefined {
  const at = cursor();
  return at && functionAt(reports.all, at.uri, at.line);
}

/** The function that a lens or a tree node names, else the one at the cursor. */
async function choose(reports: Reports, where: string | Node | undefined, name: string | undefined): Promise<Choice | undefined> {
  if (typeof where === "string" && name !== undefined) {
    return functionNamed(reports.all, vscode.Uri.parse(where).toString(), name) ?? pick(reports);
  }
  return named(reports, where) ?? atCursor(reports) ?? pick(reports);
}

function named(reports: Reports, where: unknown): Choice | undefined {
  const node = where as Node | undefined;
  return node?.function && functionNamed(reports.all, node.function.uri, node.function.name);
}

async function pick(reports: Reports): Promise<Choice | undefined> {
  const items = reports.all.flatMap((report) =>
    report.functions.map((traced) => ({ label: traced.name, description: vscode.workspace.asRelativePath(vscode.Uri.parse(traced.uri)), report, traced })),
  );
  if (items.length === 0) {
    void notices.hint("No compiled function has been traced yet.");
    return undefined;
  }
  return vscode.window.showQuickPick(items, { placeHolder: "Which function?" });
}

function codeAtCursor(): string | undefined {
  const code = findingAtCursor()?.found.code;
  const text = String(typeof code === "object" ? code.value : code);
  return /GB\d+/.exec(text)?.[0];
}

async function showMenu(): Promise<void> {
  const items = [
    { label: "$(play) Trace file", command: "traceFile" },
    { label: "$(run-all) Trace workspace", command: "traceAll" },
    { label: "$(debug-stop) Cancel", command: "cancelTrace" },
    { label: "$(type-hierarchy-sub) Show graphs", command: "showGraphs" },
    { label: "$(wand) Fix all safe breaks in this file", command: "fixAll" },
    { label: "$(paintcan) Toggle graph bands", command: "toggleBands" },
    { label: "$(output) Show logs", command: "showLogs" },
    { label: "$(debug-restart) Restart server", command: "restartServer" },
    { label: "$(gear) Open settings", command: "openSettings" },
  ];
  const item = await vscode.window.showQuickPick(items, { placeHolder: "Graphbreak" });
  await (item && vscode.commands.executeCommand(`${SECTION}.${item.command}`));
}
