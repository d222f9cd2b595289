/** *Edit inputs*: puts the comment that says how to call a function above it, and the cursor into its arguments. */

import * as vscode from "vscode";
import { argumentsOf } from "./model/inputs";
import { cursor } from "./places";
import type { Server } from "./server";

/** The arguments of the lens: where the comment goes, and the line of the one that is there already. */
export type InputsArguments = readonly [uri: string, line: number, indentation: string, directive: string, existing: number | null];

interface Lens {
  readonly range: { readonly start: { readonly line: number } };
  readonly command?: { readonly command: string; readonly arguments?: readonly unknown[] };
}

export async function editInputs([uri, line, indentation, directive, existing]: InputsArguments): Promise<void> {
  const editor = await vscode.window.showTextDocument(vscode.Uri.parse(uri));
  if (existing === null) {
    await editor.edit((edit) => { edit.insert(new vscode.Position(line, 0), `${indentation}${directive}\n`); });
  }
  selectArguments(editor, existing ?? line);
}

/** From the palette there are no arguments: those of the lens nearest above the cursor are taken. */
export async function argumentsAtCursor(server: Server): Promise<InputsArguments | undefined> {
  const at = cursor();
  const lenses = at && (await server.request<Lens[] | null>("textDocument/codeLens", { textDocument: { uri: at.uri } }));
  if (at === undefined || lenses === undefined || lenses === null) {
    return undefined;
  }
  const ours = lenses.filter((lens) => lens.command?.command === "graphbreak.editInputs").sort((a, b) => a.range.start.line - b.range.start.line);
  const lens = ours.findLast(({ range }) => range.start.line <= at.line + 1) ?? ours[0];
  return lens?.command?.arguments as InputsArguments | undefined;
}

function selectArguments(editor: vscode.TextEditor, line: number): void {
  const { start, end } = argumentsOf(editor.document.lineAt(line).text);
  editor.selection = new vscode.Selection(line, start, line, end);
  editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
