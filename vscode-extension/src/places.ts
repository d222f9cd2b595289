/** Places in files: from the server's positions to the editor, and there. */

import * as vscode from "vscode";
import type { Range } from "./protocol";

export function toRange({ start, end }: Range): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

/** Shows a place. From a view beside the code, the code stays in its own column. */
export async function open(uri: vscode.Uri, range: vscode.Range): Promise<void> {
  const shown = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri.toString());
  const column = shown?.viewColumn ?? vscode.ViewColumn.One;
  const editor = await vscode.window.showTextDocument(uri, { viewColumn: column, selection: new vscode.Range(range.start, range.start) });
  editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** The active Python file and the line of the cursor. */
export function cursor(): { readonly editor: vscode.TextEditor; readonly uri: string; readonly line: number } | undefined {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors.find(({ document }) => document.languageId === "python");
  if (editor?.document.languageId !== "python") {
    return undefined;
  }
  return { editor, uri: editor.document.uri.toString(), line: editor.selection.active.line };
}
