/** Messages that the user must act upon. Each is shown once, with what to do. */

import * as vscode from "vscode";

const CHOOSE = { "Choose Interpreter": "graphbreak.chooseInterpreter", "Show Logs": "graphbreak.showLogs" };
const said = new Set<string>();

/** No Python can run the server. Said again only when the setting is another one. */
export async function noPython(setting: string): Promise<void> {
  const wrong = setting === "" ? "Graphbreak needs Python 3.10 or newer and found none." : `Graphbreak needs Python 3.10 or newer: ${setting} is not one.`;
  await once(wrong, CHOOSE);
}

/** There is no torch to trace with; the server says each such sentence once. */
export async function noTorch(sentence: string): Promise<void> {
  await ask(sentence, CHOOSE);
}

/** The server ended too often. */
export async function gaveUp(restarts: number): Promise<void> {
  const sentence = `Graphbreak's server ended by itself and was started again ${restarts} times. It is left alone now; the log says why it ended.`;
  await ask(sentence, { "Show Logs": "graphbreak.showLogs", Restart: "graphbreak.restartServer" });
}

export async function hint(sentence: string): Promise<void> {
  await vscode.window.showInformationMessage(sentence);
}

async function once(sentence: string, actions: Readonly<Record<string, string>>): Promise<void> {
  if (!said.has(sentence)) {
    said.add(sentence);
    await ask(sentence, actions);
  }
}

async function ask(sentence: string, actions: Readonly<Record<string, string>>): Promise<void> {
  const answer = await vscode.window.showErrorMessage(sentence, ...Object.keys(actions));
  const command = answer === undefined ? undefined : actions[answer];
  if (command !== undefined) {
    await vscode.commands.executeCommand(command);
  }
}
