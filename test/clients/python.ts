// A package by openapi-python-client is generated without a warning, and its calls succeed.
import { join } from "node:path";
import { check, finish, installPackages } from "../support/suite-harness.ts";
import { checkCalls, requireSuccess, prepareWorkspace, runTool } from "./generated-client.ts";

if (!hasPython() && ["apt-get", "flock"].every((tool) => Bun.which(tool) !== null)) {
  installPackages(["python3", "python3-venv"]);
}
if (!hasPython()) {
  console.error("this needs Python 3.11 or later with venv: apt-get install python3 python3-venv");
  process.exit(1);
}

function hasPython(): boolean {
  if (Bun.which("python3") === null) return false;
  const program = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))";
  return Bun.spawnSync(["python3", "-c", program]).exitCode === 0;
}

const work = await prepareWorkspace("python");
requireSuccess(
  "a virtual environment is created",
  await runTool(work, ["python3", "-m", "venv", "venv"]),
);
const bin = join(work.folder, "venv", "bin");
const pip = [join(bin, "pip"), "install", "--quiet", "--no-compile", "--disable-pip-version-check"];
const installed = await runTool(work, [...pip, "--no-deps", "--requirement", "requirements.txt"]);
requireSuccess("openapi-python-client is installed", installed);
const generate = ["generate", "--path", work.document, "--config", "overrides.json"];
const output = ["--meta", "none", "--output-path", "berth", "--fail-on-warning"];
const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}` };
const command = [join(bin, "openapi-python-client"), ...generate, ...output];
const generated = await runTool(work, command, env);
requireSuccess("openapi-python-client generates a package", generated);
check(
  "openapi-python-client prints no warning",
  !/warn/i.test(generated.stdout + generated.stderr),
  generated,
);
await checkCalls(work, "Python", [join(bin, "python"), "calls.py"]);
finish();
