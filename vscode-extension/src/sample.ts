/** The sample file of the walkthrough: a copy, so that it can be edited and saved. */

import * as vscode from "vscode";

export async function openSample(context: vscode.ExtensionContext): Promise<void> {
  const original = vscode.Uri.joinPath(context.extensionUri, "walkthrough", "sample.py");
  const copy = vscode.Uri.joinPath(context.globalStorageUri, "sample.py");
  if (!vscode.workspace.textDocuments.some(({ uri }) => uri.toString() === copy.toString())) {
    await vscode.workspace.fs.copy(original, copy, { overwrite: true });
  }
  await vscode.window.showTextDocument(copy, { viewColumn: vscode.ViewColumn.Beside });
}
