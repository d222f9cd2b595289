/** *Fix all safe breaks in this file*: the server's code action for it, asked for and applied. */

import * as vscode from "vscode";
import * as notices from "./notices";
import { open } from "./places";
import { FIX_ALL } from "./protocol";
import type { Server } from "./server";

/** Milliseconds for which the command waits for fixes that are being tried. */
const PATIENCE = 60_000;

export class Fixes implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable[];
  readonly #tracing = new Set<string>();
  #trying = false;

  constructor(private readonly server: Server) {
    this.#subscriptions = [
      server.onTrying((trying) => { this.#trying = trying; }),
      server.onStatus(({ uri, state }) => { if (state === "tracing") { this.#tracing.add(uri); } else { this.#tracing.delete(uri); } }),
      server.onState(() => { this.#tracing.clear(); this.#trying = false; }),
    ];
  }

  /** Applies what is known to be safe. Nothing is saved: the user sees what was done, and can take it back. */
  async fixAll(uri: vscode.Uri): Promise<void> {
    const document = await vscode.workspace.openTextDocument(uri);
    await this.#tried();
    const action = await fixAllAction(document);
    if (action?.edit === undefined || action.edit.size === 0) {
      await notices.hint("No graph break in this file has a fix that was tried and found to be safe.");
    } else if (await vscode.workspace.applyEdit(action.edit)) {
      await vscode.window.showTextDocument(document, { preview: false });
    }
  }

  /** Goes to a break, and opens what can be done about it there. */
  async show({ uri, range }: { readonly uri: vscode.Uri; readonly range: vscode.Range }): Promise<void> {
    await open(uri, range);
    await vscode.commands.executeCommand("editor.action.quickFix");
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  get #busy(): boolean {
    return this.#trying || this.#tracing.size > 0;
  }

  /** Waits until what is being traced has its fixes tried, with a word on it that can be cancelled: then what is known by now has to do. */
  async #tried(): Promise<void> {
    if (this.#busy) {
      const options = { location: vscode.ProgressLocation.Notification, title: "Graphbreak: trying the fixes", cancellable: true };
      await vscode.window.withProgress(options, (_, token) => this.#end(token));
    }
  }

  #end(token: vscode.CancellationToken): Promise<void> {
    const waiting: vscode.Disposable[] = [];
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, PATIENCE);
      waiting.push(
        new vscode.Disposable(() => { clearTimeout(timer); }),
        token.onCancellationRequested(() => { resolve(); }),
        this.server.onTrying(() => { if (!this.#busy) { resolve(); } }),
        this.server.onStatus(() => { if (!this.#busy) { resolve(); } }),
        this.server.onState(() => { resolve(); }),
      );
    }).finally(() => { vscode.Disposable.from(...waiting).dispose(); });
  }
}

async function fixAllAction(document: vscode.TextDocument): Promise<vscode.CodeAction | undefined> {
  const everything = new vscode.Range(0, 0, document.lineCount, 0);
  const found = await vscode.commands.executeCommand<vscode.CodeAction[]>("vscode.executeCodeActionProvider", document.uri, everything, FIX_ALL, 1);
  return found.find(({ kind }) => kind?.value.startsWith(FIX_ALL));
}
