// Types by openapi-typescript: a program that uses them compiles, and its calls are answered.
import { join } from "node:path";
import { check, finish } from "../support/suite-harness.ts";
import { judgeCalls, mustWork, prepare, run } from "./generated-client.ts";

const work = await prepare("typescript");
const bun = process.execPath;
const install = [bun, "install", "--frozen-lockfile", "--ignore-scripts"];
mustWork("openapi-typescript is installed", await run(work, install));
const generator = join("node_modules", "openapi-typescript", "bin", "cli.js");
const generated = await run(work, [bun, generator, work.document, "--output", "types.ts"]);
mustWork("types are generated", generated);
check("without a warning", !/warn|⚠/i.test(generated.stdout + generated.stderr), generated);
// The compiler that this project uses itself; the generator brings another for its own use.
const compiler = join(import.meta.dir, "..", "..", "node_modules", ".bin", "tsc");
mustWork(
  "a program with typed bodies and replies compiles",
  await run(work, [compiler, "-p", "."]),
);
await judgeCalls(work, "TypeScript", [bun, "calls.ts"]);
finish();
