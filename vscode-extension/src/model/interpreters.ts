/** Which Python runs the server: the candidates in order, and the first that will do. */

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

/** The Pythons to try, best first. Only a setting is final: a wrong one should be heard of, not passed over. */
export function candidates(around: Surroundings): Candidate[] {
  if (around.setting !== "") {
    return [{ path: resolved(around.setting, around), origin: "setting" }];
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
  const relative = /[\\/]/.test(path) && !/^([\\/]|[A-Za-z]:)/.test(path);
  return relative && folder !== undefined ? `${folder}/${path}` : path;
}

function inEnvironment(prefix: string, windows: boolean): string {
  return windows ? `${prefix}/Scripts/python.exe` : `${prefix}/bin/python`;
}
