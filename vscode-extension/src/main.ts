/** Wires the parts together. Each of them is a file of its own. */

import * as vscode from "vscode";
import { Attention } from "./attention";
import { Bands } from "./bands";
import { BreaksTree } from "./breaksTree";
import { registerCommands } from "./commands";
import { Explanations } from "./explanations";
import { Fixes } from "./fixes";
import { GraphPanel } from "./graphPanel";
import { MessagesChannel } from "./messagesChannel";
import { Pages } from "./pages";
import { ActiveEnvironment } from "./pythonExtension";
import { Pythons } from "./pythons";
import { Reports } from "./reports";
import { Server } from "./server";
import { onSettings } from "./settings";
import { Status } from "./status";

let running: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Graphbreak", { log: true });
  const messages = new MessagesChannel();
  const active = new ActiveEnvironment(log);
  const bundle = context.asAbsolutePath("bundled");
  const server = new Server(bundle, new Pythons(active, bundle, log), log, messages);
  const reports = new Reports(server);
  const breaks = new BreaksTree(reports, context.workspaceState);
  const graphs = new GraphPanel(reports, vscode.Uri.joinPath(context.extensionUri, "dist"));
  const pages = new Pages(server);
  const explanations = new Explanations(server, pages);
  const fixes = new Fixes(server);
  const commands = registerCommands({ context, log, server, reports, breaks, graphs, pages, explanations, fixes });
  const restart = (): void => { server.restartSoon(); };
  context.subscriptions.push(
    log, messages, active, server, reports, breaks, graphs, pages, fixes, commands,
    new Attention(server),
    new Bands(reports),
    new Status(server, reports),
    active.onDidChange(restart),
    onSettings(["interpreter", "importStrategy"], restart),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  running = server;
  void server.restart();
}

export async function deactivate(): Promise<void> {
  await running?.stop();
}
