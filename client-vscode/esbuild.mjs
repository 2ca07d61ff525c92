// Bundles the extension into out/extension.js; with --test, each test file into out/test/.
import { readdir, rm } from "node:fs/promises";
import { build } from "esbuild";

const shared = { bundle: true, platform: "node", format: "cjs", target: "node20", logLevel: "warning" };

if (process.argv.includes("--test")) {
  await rm("out/test", { recursive: true, force: true });
  const tests = (await readdir("test")).filter((name) => name.endsWith(".test.ts"));
  await build({
    ...shared,
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: "out/test",
    sourcemap: "inline",
    // the same types of messages, without the part that needs an editor
    alias: { "vscode-languageclient/node": "vscode-languageserver-protocol/node" },
  });
} else {
  const production = process.argv.includes("--production");
  await build({
    ...shared,
    entryPoints: ["src/extension.ts"],
    outfile: "out/extension.js",
    external: ["vscode"],
    minify: production,
    sourcemap: !production,
  });
}
