// The versions of Python on this machine, each with a virtual environment of its own.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { keepFolder } from "../../support/kept-folder.ts";
import { installPackages } from "../../support/suite-harness.ts";

/** The versions that the client supports and that are tested. */
const VERSIONS = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"];

const REQUIREMENTS = join(import.meta.dir, "builds", "requirements.txt");

/** The program of each version: that of the distribution, and those of pyenv. */
export function findPythons(): ReadonlyMap<string, string> {
  if (findUsable().size === 0) installPackages(["python3", "python3-venv"]);
  const found = findUsable();
  if (found.size > 0) return found;
  throw new Error("this needs Python 3.9 or later: apt-get install python3 python3-venv");
}

function findUsable(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const program of listPrograms()) {
    const version = readVersion(program);
    if (version !== null && !found.has(version)) found.set(version, program);
  }
  return found;
}

function listPrograms(): string[] {
  const versions = join(process.env["PYENV_ROOT"] ?? join(homedir(), ".pyenv"), "versions");
  const ofPyenv = existsSync(versions)
    ? readdirSync(versions).map((name) => join(versions, name, "bin", "python"))
    : [];
  const named = VERSIONS.flatMap((version) => Bun.which(`python${version}`) ?? []);
  return ["/usr/bin/python3", ...ofPyenv, ...named];
}

function readVersion(program: string): string | null {
  if (!existsSync(program)) return null;
  const script = "import ensurepip, ssl, sys; print('%d.%d' % sys.version_info[:2])";
  const { stdout, exitCode } = Bun.spawnSync([program, "-c", script], { stderr: "ignore" });
  const version = stdout.toString().trim();
  return exitCode === 0 && VERSIONS.includes(version) ? version : null;
}

/** The folder of a virtual environment with some of the pinned packages. */
export function prepareEnvironment(python: string, packages: readonly string[]): string {
  const pins = readFileSync(REQUIREMENTS, "utf8");
  const inputs = [python, readVersion(python), ...packages, pins].join("\n");
  return keepFolder("python", inputs, (folder) => {
    runOrThrow([python, "-m", "venv", folder]);
    if (packages.length === 0) return;
    const lines = pins.split("\n");
    const wanted = packages.map((name) => lines.find((pin) => pin.startsWith(`${name}==`)) ?? name);
    const flags = ["--quiet", "--disable-pip-version-check", "--constraint", REQUIREMENTS];
    runOrThrow([join(folder, "bin", "pip"), "install", ...flags, ...wanted]);
  });
}

function runOrThrow(command: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...command], { stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed: ${stderr.toString()}`);
}
