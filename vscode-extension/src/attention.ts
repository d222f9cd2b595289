/** Tells the server which file the user went to, so that it is traced before the others. */

import * as vscode from "vscode";
import { ACTIVE } from "./protocol";
import type { Server } from "./server";

export class Attention implements vscode.Disposable {
  readonly #subscription: vscode.Disposable;

  constructor(private readonly server: Server) {
    this.#subscription = vscode.Disposable.from(
      vscode.window.onDidChangeActiveTextEditor((editor) => { this.#tell(editor); }),
      server.onState((state) => { if (state === "running") { this.#tell(vscode.window.activeTextEditor); } }),
    );
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  #tell(editor: vscode.TextEditor | undefined): void {
    if (editor?.document.languageId === "python") {
      void this.server.notify(ACTIVE, { uri: editor.document.uri.toString() });
    }
  }
}
