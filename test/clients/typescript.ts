// Types by openapi-typescript: a program that uses them compiles, and its calls are answered.
import { join } from "node:path";
import { check, finish } from "../support/suite-harness.ts";
import { checkCalls, requireSuccess, prepareWorkspace, runTool } from "./generated-client.ts";

const work = await prepareWorkspace("typescript");
const bun = process.execPath;
const install = [bun, "install", "--frozen-lockfile", "--ignore-scripts"];
requireSuccess("openapi-typescript is installed", await runTool(work, install));
const generator = join("node_modules", "openapi-typescript", "bin", "cli.js");
const generated = await runTool(work, [bun, generator, work.document, "--output", "types.ts"]);
requireSuccess("types are generated", generated);
check("without a warning", !/warn|⚠/i.test(generated.stdout + generated.stderr), generated);
// The compiler that this project uses itself; the generator brings another for its own use.
const compiler = join(import.meta.dir, "..", "..", "node_modules", ".bin", "tsc");
requireSuccess(
  "a program with typed bodies and replies compiles",
  await runTool(work, [compiler, "-p", "."]),
);
await checkCalls(work, "TypeScript", [bun, "calls.ts"]);
finish();
