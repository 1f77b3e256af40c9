// A package by openapi-python-client is generated without a warning, and its calls succeed.
import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { keepFolder } from "../support/kept-folder.ts";
import { installPackages } from "../support/suite-harness.ts";
import {
  type CommandResult,
  type ProgramCalls,
  prepareWorkspace,
  requireSuccess,
  runProgram,
  runTool,
  testCalls,
} from "./generated-client.ts";

function requirePython(): void {
  if (!hasPython() && ["apt-get", "flock"].every((tool) => Bun.which(tool) !== null)) {
    installPackages(["python3", "python3-venv"]);
  }
  if (hasPython()) return;
  throw new Error(
    "this needs Python 3.11 or later with venv: apt-get install python3 python3-venv",
  );
}

function hasPython(): boolean {
  if (Bun.which("python3") === null) return false;
  const program = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))";
  return Bun.spawnSync(["python3", "-c", program]).exitCode === 0;
}

const REQUIREMENTS = join(import.meta.dir, "python", "requirements.txt");

/** The folder of a virtual environment with openapi-python-client. */
function prepareGenerator(): string {
  const version = Bun.spawnSync(["python3", "--version"]).stdout.toString();
  const inputs = [Bun.which("python3"), version, readFileSync(REQUIREMENTS, "utf8")].join("\n");
  return keepFolder("openapi-python-client", inputs, (folder) => {
    const flags = ["--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"];
    for (const command of [
      ["python3", "-m", "venv", folder],
      [join(folder, "bin", "pip"), "install", ...flags, REQUIREMENTS],
    ]) {
      const { exitCode, stderr } = Bun.spawnSync(command, { stdout: "ignore", stderr: "pipe" });
      if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
    }
  });
}

describe("the Python client", () => {
  let generated: CommandResult;
  let calls: ProgramCalls;

  beforeAll(async () => {
    requirePython();
    const work = await prepareWorkspace("python");
    const bin = join(prepareGenerator(), "bin");
    const generate = ["generate", "--path", work.document, "--config", "overrides.json"];
    const output = ["--meta", "none", "--output-path", "berth", "--fail-on-warning"];
    const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}` };
    const command = [join(bin, "openapi-python-client"), ...generate, ...output];
    generated = await runTool(work, command, env);
    requireSuccess("openapi-python-client generates a package", generated);
    calls = await runProgram(work, [join(bin, "python"), "calls.py"]);
  });

  test("is generated without a warning", () => {
    expect(generated.stdout + generated.stderr).not.toMatch(/warn/i);
  });

  testCalls(test, () => calls);
});
