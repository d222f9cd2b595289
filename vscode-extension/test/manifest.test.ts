import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { forServer } from "../src/model/serverSettings";
import { STATUS_COMMANDS } from "../src/model/statusWords";

interface Setting {
  readonly scope?: string;
  readonly default?: unknown;
  readonly description?: string;
  readonly markdownDescription?: string;
  readonly enum?: readonly string[];
  readonly enumDescriptions?: readonly string[];
}

interface Manifest {
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly menus: Readonly<Record<string, readonly { readonly command: string }[]>>;
    readonly configuration: { readonly properties: Readonly<Record<string, Setting & { readonly properties?: object }>> };
  };
}

const { capabilities, contributes } = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const SETTINGS = Object.entries(contributes.configuration.properties);
/** Those that choose what is run, or what it may do. */
const POWERFUL = /^graphbreak\.(interpreter|importStrategy|sandbox\..*)$/;

void test("each setting has a description, a scope and a default", () => {
  for (const [name, setting] of SETTINGS) {
    assert.ok(setting.description ?? setting.markdownDescription, name);
    assert.ok(["resource", "window", "machine", "machine-overridable"].includes(setting.scope ?? ""), name);
    assert.notEqual(setting.default, undefined, name);
    assert.equal(setting.enumDescriptions?.length ?? setting.enum?.length, setting.enum?.length, name);
  }
});

void test("a repository's settings cannot choose what is run, or what it may do, before it is trusted", () => {
  const powerful = SETTINGS.filter(([name]) => POWERFUL.test(name));
  assert.equal(powerful.length, 8);
  assert.ok(powerful.every(([name, { scope }]) => scope === (name.includes(".sandbox.") ? "machine" : "machine-overridable")));
  assert.deepEqual([...capabilities.untrustedWorkspaces.restrictedConfigurations].sort(), powerful.map(([name]) => name).sort());
});

void test("every setting that is not the editor's own goes to the server", () => {
  const groups = [...new Set(SETTINGS.map(([name]) => name.split(".")[1] ?? ""))];
  const sent = Object.keys(forServer(Object.fromEntries(groups.map((group) => [group, group === "lens" ? { enable: true } : "x"])), "python"));
  assert.deepEqual(groups.filter((group) => !sent.includes(group)), ["importStrategy", "bands", "trace"]);
});

void test("the kinds whose severity can be set are the server's", () => {
  const findings = readFileSync("../server/graphbreak/core/findings.py", "utf8");
  const kinds = /class Kind\(.*?\n\n\n/s.exec(findings)?.[0].matchAll(/= "([a-z-]+)"/g) ?? [];
  const severity = contributes.configuration.properties["graphbreak.severity"]?.properties ?? {};
  assert.deepEqual(Object.keys(severity).sort(), [...kinds].map(([, kind]) => kind).sort());
});

void test("every command is there: those of menus and of the status among the declared, and those behind them", () => {
  const declared = contributes.commands.map(({ command }) => command);
  const used = [...Object.values(contributes.menus).flatMap((entries) => entries.map(({ command }) => command)), ...STATUS_COMMANDS];
  assert.deepEqual(used.filter((command) => command.startsWith("graphbreak.") && !declared.includes(command)), []);
  const table = readFileSync("src/commands.ts", "utf8");
  assert.deepEqual(declared.filter((command) => !table.includes(`${command.replace("graphbreak.", "")}: `)), []);
});
