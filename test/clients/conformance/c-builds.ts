// Builds of the client for C: compilers, standards, sanitizers and valgrind.
import { join } from "node:path";
import { chooseSize, installPackages, requirePackages } from "../../support/suite-harness.ts";
import { SOURCES } from "./clients.ts";

export const DRIVERS = join(import.meta.dir, "drivers");
const BUILDS = join(import.meta.dir, "builds");

/** As a strict vendor compiles it. */
export const STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"];

const WITH_OPENSSL = "-DBERTH_WITH_OPENSSL=";

export interface Build {
  readonly sources: readonly string[];
  readonly flags: readonly string[];
  readonly program: string;
  readonly compiler?: string;
  readonly hasOpenSsl: boolean;
}

export const buildSource = (name: string): string => join(BUILDS, name);

/** Compiles a program with the client; throws the compiler's messages. */
export function buildC({ sources, flags, program, compiler = "gcc", hasOpenSsl }: Build): void {
  const define = hasOpenSsl ? [WITH_OPENSSL] : [];
  // clang warns about libraries for a file that is not linked.
  const isLinked = !flags.includes("-c");
  const libraries = [...(hasOpenSsl ? ["-lcrypto"] : []), "-lcurl", "-lpthread"];
  const inputs = [...sources, ...(isLinked ? libraries : [])];
  const command = [compiler, ...flags, ...define, "-I", SOURCES, "-o", program, ...inputs];
  const { exitCode, stderr } = Bun.spawnSync(command, { stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}\n${stderr.toString()}`);
}

const HEADER_PACKAGES = ["libcurl4-openssl-dev", "libssl-dev"];

const hasHeaders = (): boolean =>
  ["curl/curl.h", "openssl/evp.h"].every(
    (header) => Bun.spawnSync(["gcc", "-E", "-include", header, "-xc", "/dev/null"]).exitCode === 0,
  );

/** gcc, and clang where it is installed. */
export function findCompilers(): string[] {
  requirePackages({ gcc: "gcc", "g++": "g++", "libc6-dev": "/usr/include/stdio.h" });
  if (!hasHeaders()) installPackages(HEADER_PACKAGES);
  if (!hasHeaders()) {
    throw new Error(`this needs Debian packages: apt-get install ${HEADER_PACKAGES.join(" ")}`);
  }
  return ["gcc", ...(Bun.which("clang") === null ? [] : ["clang"])];
}

interface Instrument {
  readonly flags: readonly string[];
  /** Before the program in its command. */
  readonly prefix?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Of the lease cases, every so many-th. */
  readonly everyLeaseCase: number;
  /** Checks of texts with random changes. */
  readonly mutations?: number;
}

/** libcurl and OpenSSL are not compiled for TSan, which cannot see their locks. */
const SUPPRESSIONS = join(BUILDS, "tsan-suppressions.txt");

/** What finds mistakes with memory and threads. Each one ends the program with another code. */
export const INSTRUMENTS: Readonly<Record<string, Instrument>> = {
  "ASan and UBSan": {
    flags: ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    env: { ASAN_OPTIONS: "detect_leaks=1:exitcode=98:check_initialization_order=1" },
    everyLeaseCase: 1,
    mutations: chooseSize(600, 50_000),
  },
  TSan: {
    flags: ["-g", "-O1", "-fsanitize=thread"],
    env: { TSAN_OPTIONS: `exitcode=97:second_deadlock_stack=1:suppressions=${SUPPRESSIONS}` },
    everyLeaseCase: 11,
  },
  valgrind: {
    flags: ["-g", "-O1"],
    prefix: [
      "valgrind",
      "--quiet",
      "--error-exitcode=99",
      "--leak-check=full",
      "--show-leak-kinds=definite,indirect,possible",
      "--errors-for-leak-kinds=definite,indirect,possible",
    ],
    everyLeaseCase: 11,
  },
};
