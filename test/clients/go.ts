// A package by oapi-codegen, of the whole document: it compiles, and its calls are answered.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { check, finish, skip } from "../support/suite-harness.ts";
import { checkCalls, requireSuccess, prepareWorkspace, runTool } from "./generated-client.ts";

const GENERATOR = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.1";

if (Bun.which("go") === null) {
  skip("the Go client", "Go is not installed");
  finish();
}

const work = await prepareWorkspace("go");
mkdirSync(join(work.folder, "berth"));
const options = ["-generate", "types,client", "-package", "berth", "-o", "berth/client.go"];
const generated = await runTool(work, ["go", "run", GENERATOR, ...options, work.document]);
requireSuccess("a package is generated from the whole document", generated);
// Downloads are told on the same stream.
const said = generated.stderr.replaceAll(/^go: downloading .*\n/gm, "");
check("without a warning", said === "" && generated.stdout === "", generated);
requireSuccess("it compiles", await runTool(work, ["go", "build", "-o", "calls", "."]));
await checkCalls(work, "Go", ["./calls"]);
finish();
