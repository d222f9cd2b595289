/** Finds the Python that runs the server, by trying the candidates. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import * as vscode from "vscode";
import { type Candidate, candidates, isNewEnough, namedInterpreter, parseVersion } from "./model/interpreters";
import type { ActiveEnvironment } from "./pythonExtension";
import { settings } from "./settings";

const PROBE = "import sys; print('%d.%d' % sys.version_info[:2])";
const PROBE_TIME = 15_000;

export class Pythons {
  constructor(
    private readonly active: ActiveEnvironment,
    private readonly quietFolder: string,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** The first candidate that is new enough; undefined when there is none. */
  async forServer(): Promise<string | undefined> {
    const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath);
    const trusted = vscode.workspace.isTrusted;
    const windows = process.platform === "win32";
    const active = trusted ? await this.active.interpreter(vscode.workspace.workspaceFolders?.[0]?.uri) : undefined;
    for (const candidate of candidates({ setting: settings.interpreter(), active, folders, home: homedir(), windows, trusted })) {
      if (await this.#works(candidate)) {
        return candidate.path;
      }
    }
    return undefined;
  }

  /** The Python that traces a folder's code, where the user has named one. In an untrusted workspace nothing is traced. */
  async forWorker(scope?: vscode.Uri): Promise<string | undefined> {
    if (!vscode.workspace.isTrusted) {
      return undefined;
    }
    const setting = settings.interpreter(scope);
    return namedInterpreter({ setting, active: setting === "" ? await this.active.interpreter(scope) : undefined });
  }

  async #works({ path, origin }: Candidate): Promise<boolean> {
    if (isAbsolute(path) && !existsSync(path)) {
      this.log.debug(`No Python at ${path} (${origin}).`);
      return false;
    }
    const version = parseVersion(await this.#run(path));
    this.log.debug(`Python at ${path} (${origin}): ${version === undefined ? "does not run" : `${version.major}.${version.minor}`}`);
    return version !== undefined && isNewEnough(version);
  }

  /** What the probe prints; nothing when it fails. It runs isolated, in a folder of ours: the workspace has no say in it. */
  #run(path: string): Promise<string> {
    return new Promise((resolve) => {
      execFile(path, ["-I", "-c", PROBE], { cwd: this.quietFolder, timeout: PROBE_TIME }, (error, output) => {
        resolve(error === null ? output : "");
      });
    });
  }
}
