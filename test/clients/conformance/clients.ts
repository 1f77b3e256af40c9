// The clients that the conformance suites drive, and what each one needs on this machine. The
// variable BERTH_CLIENT selects one of them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd, requirePackages } from "../../support/suite-harness.ts";

export type ClientName = "python" | "c" | "node" | "bun";

export const SOURCES = join(import.meta.dir, "..", "..", "..", "src", "clients");
const DRIVERS = join(import.meta.dir, "drivers");

/** The clients with a driver. `berth run` has none: its scenarios start the wrapper itself. */
const CLIENT_NAMES: readonly ClientName[] = ["python", "c", "node", "bun"];

/** What BERTH_CLIENT selects; without it, everything. */
const selection = process.env["BERTH_CLIENT"] ?? "";

export const isSelected = (name: ClientName | "run"): boolean => {
  if (selection !== "" && ![...CLIENT_NAMES, "run"].includes(selection)) {
    throw new Error(`BERTH_CLIENT is ${selection}, but must be ${CLIENT_NAMES.join(", ")} or run`);
  }
  return selection === "" || selection === name;
};

export const selectedClients: readonly ClientName[] = CLIENT_NAMES.filter(isSelected);

/** The headers of libcurl are in a folder that has the name of the architecture. */
export const C_PACKAGES = {
  gcc: "gcc",
  "libc6-dev": "/usr/include/stdio.h",
  "libcurl4-openssl-dev": `/usr/include/${findTriplet()}/curl/curl.h`,
  "libssl-dev": "/usr/include/openssl/evp.h",
};

function findTriplet(): string {
  return process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
}

const prepared = new Map<ClientName, readonly string[]>();

/** The command that starts a client's driver; installs and compiles what is missing. */
export function prepareDriver(name: ClientName): readonly string[] {
  const command = prepared.get(name) ?? PREPARE[name]();
  prepared.set(name, command);
  return command;
}

const PREPARE: Readonly<Record<ClientName, () => readonly string[]>> = {
  python: preparePython,
  c: prepareC,
  node: prepareNode,
  bun: () => [process.execPath, join(DRIVERS, "driver.mjs")],
};

// -B: writes no compiled files beside the sources.
function preparePython(): readonly string[] {
  return [findPython(), "-B", join(DRIVERS, "driver.py")];
}

/** The lease check needs the package `cryptography`; everything else, the standard library. */
export function findPython(): string {
  const hasCryptography = (): boolean =>
    Bun.which("python3") !== null &&
    Bun.spawnSync(["python3", "-c", "import cryptography, ssl"]).exitCode === 0;
  requirePackages({ python3: "python3" });
  if (!hasCryptography()) {
    requirePackages({ "python3-cryptography": "/usr/lib/python3/dist-packages/cryptography" });
  }
  // A python3 that is found before that of the distribution does not see its packages.
  return hasCryptography() ? "python3" : "/usr/bin/python3";
}

function prepareNode(): readonly string[] {
  requirePackages({ nodejs: "node" });
  const version = Bun.spawnSync(["node", "--version"]).stdout.toString().trim();
  if (Number(/^v(\d+)/.exec(version)?.[1]) < 18) {
    throw new Error(`this needs Node.js 18 or later, but node is ${version}`);
  }
  return ["node", join(DRIVERS, "driver.mjs")];
}

/** As a vendor compiles it, with warnings as errors. */
const C_FLAGS = ["-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Werror"];

function prepareC(): readonly string[] {
  requirePackages(C_PACKAGES);
  // Not in a tmpfs, which may forbid running programs.
  const folder = mkdtempSync(join(tmpdir(), "berth-driver-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, "driver");
  compileC([join(DRIVERS, "driver.c")], program);
  return [program];
}

/** Compiles C sources with `berth.h`; throws the compiler's messages. */
function compileC(
  sources: readonly string[],
  program: string,
  flags: readonly string[] = C_FLAGS,
  compiler = "gcc",
): void {
  const libraries = ["-lcurl", "-lssl", "-lcrypto", "-lpthread"];
  const command = [compiler, ...flags, "-I", SOURCES, "-o", program, ...sources, ...libraries];
  const { exitCode, stderr } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(`${command.join(" ")}\n${stderr.toString()}`);
}
