/** The text of files as the editor has it, else as it is on disk. */

import * as vscode from "vscode";

const LINE_ENDS = /\r\n|\r|\n/;

/** The lines of each file that can be read. Nothing is opened for it: the server would take an opened document for one to trace. */
export async function readLines(uris: Iterable<string>): Promise<Map<string, readonly string[]>> {
  const read = await Promise.all([...new Set(uris)].map(async (uri) => [uri, await linesOf(uri)] as const));
  return new Map(read);
}

async function linesOf(uri: string): Promise<readonly string[]> {
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
  if (open !== undefined) {
    return open.getText().split(LINE_ENDS);
  }
  try {
    return new TextDecoder().decode(await vscode.workspace.fs.readFile(vscode.Uri.parse(uri))).split(LINE_ENDS);
  } catch {
    return []; // a file that is gone has no lines to show
  }
}
