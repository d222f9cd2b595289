/** Which Python runs the server: the candidates in order, and the first that will do. */

import { posix, win32 } from "node:path";

export interface Candidate {
  readonly path: string;
  readonly origin: "setting" | "python extension" | "folder" | "path";
}

export interface Surroundings {
  readonly setting: string;
  readonly active: string | undefined;
  readonly folders: readonly string[];
  readonly home: string;
  readonly windows: boolean;
  /** Nothing that lies in an untrusted folder may be started, interpreters included. */
  readonly trusted: boolean;
}

export interface Version {
  readonly major: number;
  readonly minor: number;
}

export const OLDEST: Version = { major: 3, minor: 10 };

/**
 * The Pythons to try, best first. Only a setting is final: a wrong one should be heard of, not passed over. One that names a file of an
 * untrusted folder counts for nothing there: the editor keeps back what the folder itself sets, and not what the user has set for all folders.
 */
export function candidates(around: Surroundings): Candidate[] {
  const setting = resolved(around.setting, around);
  if (setting !== "" && (around.trusted || !liesInFolder(setting, around))) {
    return [{ path: setting, origin: "setting" }];
  }
  const found: Candidate[] = [];
  if (around.active !== undefined && around.trusted) {
    found.push({ path: around.active, origin: "python extension" });
  }
  if (around.trusted) {
    found.push(...around.folders.map((folder): Candidate => ({ path: inEnvironment(`${folder}/.venv`, around.windows), origin: "folder" })));
  }
  const names = around.windows ? ["python", "py"] : ["python3", "python"];
  return [...found, ...names.map((path): Candidate => ({ path, origin: "path" }))];
}

/** The interpreter to trace with, where somebody has named one; else the server decides, per folder. */
export function namedInterpreter(around: Pick<Surroundings, "setting" | "active">): string | undefined {
  return around.setting !== "" ? around.setting : around.active;
}

export function isNewEnough(version: Version): boolean {
  return version.major > OLDEST.major || (version.major === OLDEST.major && version.minor >= OLDEST.minor);
}

/** Reads what the probe prints. */
export function parseVersion(output: string): Version | undefined {
  const match = /^(\d+)\.(\d+)\s*$/.exec(output.trim());
  return match?.[1] === undefined || match[2] === undefined ? undefined : { major: Number(match[1]), minor: Number(match[2]) };
}

function resolved(setting: string, around: Surroundings): string {
  const path = setting.replace(/^~(?=$|[\\/])/, around.home);
  const folder = around.folders[0];
  const relative = isPath(path) && !/^([\\/]|[A-Za-z]:)/.test(path);
  return relative && folder !== undefined ? `${folder}/${path}` : path;
}

/** Whether a path leads into one of the folders; on Windows, where case does not count, in whatever case. */
function liesInFolder(path: string, { folders, windows }: Surroundings): boolean {
  const paths = windows ? win32 : posix;
  return isPath(path) && folders.some((folder) => {
    const way = paths.relative(folder, paths.resolve(folder, path));
    return !paths.isAbsolute(way) && way.split(/[\\/]/)[0] !== "..";
  });
}

/** A name alone is looked up among the programs of the machine. */
function isPath(text: string): boolean {
  return /[\\/]/.test(text);
}

function inEnvironment(prefix: string, windows: boolean): string {
  return windows ? `${prefix}/Scripts/python.exe` : `${prefix}/bin/python`;
}
