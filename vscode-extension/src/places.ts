/** Places in files: from the server's positions to the editor, and there. */

import * as vscode from "vscode";
import type { Range } from "./protocol";
import { SECTION } from "./settings";

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

export interface Finding {
  readonly uri: vscode.Uri;
  readonly range: vscode.Range;
  readonly found: vscode.Diagnostic;
}

/** Our diagnostic at the cursor, else in its line, else the loudest of the file where nothing else is meant. */
export function findingAtCursor(): Finding | undefined {
  const at = cursor();
  if (at === undefined) {
    return undefined;
  }
  const { uri } = at.editor.document;
  const all = vscode.languages.getDiagnostics(uri).filter(({ source }) => source === SECTION).sort((a, b) => a.severity - b.severity);
  const on = all.find(({ range }) => range.contains(at.editor.selection.active));
  const found = on ?? all.find(({ range }) => range.start.line === at.line) ?? all[0];
  return found && { uri, range: found.range, found };
}
