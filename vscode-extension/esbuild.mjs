// Bundles the extension and the script of the graph view; with --tests, the unit tests instead.
import { build } from "esbuild";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const common = { bundle: true, logLevel: "warning", target: "node20", platform: "node", format: "cjs" };

if (process.argv.includes("--tests")) {
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  await build({ ...common, entryPoints: tests.map((name) => `test/${name}`), outdir: "dist-test", outExtension: { ".js": ".cjs" }, sourcemap: "inline" });
} else {
  const { metafile } = await build({ ...common, entryPoints: ["src/main.ts"], outdir: "dist", external: ["vscode"], minify: true, metafile: true });
  writeFileSync("dist/NOTICES.txt", notices(metafile));
  await build({ ...common, entryPoints: { graphView: "src/webview/graphView.ts" }, outdir: "dist", platform: "browser", format: "iife", target: "es2022", minify: true });
}

/** The licences of what is in the bundle, as they ask for. */
function notices({ inputs }) {
  const folders = Object.keys(inputs).flatMap((path) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].sort().map((folder) => {
    const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const licence = readdirSync(folder).find((file) => /^licen[sc]e/i.test(file));
    return `${name} ${version}\n\n${licence === undefined ? "" : readFileSync(`${folder}/${licence}`, "utf8").trim()}\n`;
  }).join("\n----\n\n");
}
