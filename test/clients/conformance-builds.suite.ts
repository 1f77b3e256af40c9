// The clients on every version of their languages that this machine has, and the client for C with
// several compilers, with sanitizers and under valgrind.
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepFolder } from "../support/kept-folder.ts";
import { atEnd, requirePackages, testUnless } from "../support/suite-harness.ts";
import {
  buildC,
  buildSource,
  DRIVERS,
  findCompilers,
  INSTRUMENTS,
  STRICT,
} from "./conformance/c-builds.ts";
import { isSelected, SOURCES } from "./conformance/clients.ts";
import { Driver } from "./conformance/driver.ts";
import { exercise } from "./conformance/exercise.ts";
import { findPythons, prepareEnvironment } from "./conformance/python-builds.ts";
import { PRODUCT } from "./conformance/lease-documents.ts";
import { issuer } from "./conformance/lease-scenarios.ts";
import { makeSiteFolder, ProductOnServer, serveFolder } from "./conformance/site.ts";

/** Not in a tmpfs, which may forbid running programs. */
const work = mkdtempSync(join(tmpdir(), "berth-builds-"));
atEnd(() => rmSync(work, { recursive: true, force: true }));
const inWork = (name: string): string => join(work, name.replaceAll(/\W+/g, "-"));

/** Products with licenses of their own, one per test. */
const products = Array.from({ length: 30 }, (_, index) => `build-${index}`);
let serverUrl = "";

beforeAll(async () => {
  const terms = Object.fromEntries(products.map((product) => [product, {}]));
  serverUrl = (await serveFolder(await makeSiteFolder(terms))).url;
});

function nextProduct(): ProductOnServer {
  const product = products.pop();
  if (product === undefined) throw new Error("there are more tests than products");
  return new ProductOnServer(serverUrl, product);
}

if (isSelected("python")) {
  describe("berth.py", () => {
    const pythons = findPythons();
    const driver = join(DRIVERS, "driver.py");

    for (const [version, program] of pythons) {
      test(`makes all calls with Python ${version}`, async () => {
        const folder = prepareEnvironment(program, ["cryptography"]);
        const command = [join(folder, "bin", "python"), "-B", "-W", "error", driver];
        await exercise(new Driver(command), nextProduct());
      });
    }

    const [oldest] = pythons.values();

    test("is used by tasks of asyncio, and leaves no slot taken", async () => {
      const product = nextProduct();
      const program = [oldest ?? "python3", "-B", "-W", "error", buildSource("tasks.py")];
      const child = Bun.spawn([...program, product.url, product.product], {
        stdout: "pipe",
        stderr: "pipe",
      });
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      expect([await child.exited, stdout, stderr]).toEqual([0, "True\n", ""]);
      expect(await product.slotsInUse()).toBe(0);
      expect(await product.total()).toBeGreaterThanOrEqual(8);
    });

    test("makes all calls but the lease check without cryptography", async () => {
      const folder = prepareEnvironment(oldest ?? "python3", []);
      const command = [join(folder, "bin", "python"), "-B", driver];
      await exercise(new Driver(command), nextProduct(), { everyLeaseCase: 0 });
    });

    test("has types that mypy --strict accepts", () => {
      const newest = [...pythons.values()].at(-1) ?? "python3";
      const packages = ["mypy", "cryptography"];
      const folder = prepareEnvironment(newest, packages);
      const flags = ["--strict", "--python-version", "3.9", "--cache-dir", inWork("mypy-cache")];
      const mypy = Bun.spawnSync([
        join(folder, "bin", "mypy"),
        ...flags,
        join(SOURCES, "berth.py"),
      ]);
      expect(mypy.stdout.toString()).toStartWith("Success");
    });
  });
}

if (isSelected("c")) {
  describe("berth.h", () => {
    const compilers = findCompilers();
    const units = [buildSource("first-unit.c"), buildSource("second-unit.c")];

    for (const compiler of compilers) {
      for (const hasOpenSsl of [true, false]) {
        const library = hasOpenSsl ? "with OpenSSL" : "without OpenSSL";
        test(`compiles in two files as strict C99 by ${compiler} ${library}`, async () => {
          const program = inWork(`units-${compiler}-${library}`);
          const flags = ["-std=c99", ...STRICT];
          buildC({ sources: units, flags, program, compiler, hasOpenSsl });
          const child = Bun.spawn([program], { stdout: "pipe" });
          const code = hasOpenSsl ? "license_malformed" : "verify_unavailable";
          expect(await child.stdout.text()).toBe(`${code}\n`);
          expect(await child.exited).toBe(0);
        });
      }

      test(`compiles in a C++ file by ${compiler}`, async () => {
        const objects = inWork(`first-unit-${compiler}.o`);
        const flags = ["-std=c99", ...STRICT];
        const first = { sources: units.slice(0, 1), flags: [...flags, "-c"], program: objects };
        buildC({ ...first, compiler, hasOpenSsl: true });
        const program = inWork(`cplusplus-${compiler}`);
        buildC({
          sources: [buildSource("second-unit.cpp"), objects],
          flags: ["-std=c++11", ...STRICT],
          program,
          compiler: compiler === "gcc" ? "g++" : "clang++",
          hasOpenSsl: true,
        });
        const child = Bun.spawn([program], { stdout: "pipe" });
        expect(await child.stdout.text()).toBe("license_malformed\n");
      });
    }

    test("checks no lease without a nonce: one for any device would fit", async () => {
      const program = inWork("no-machine-id");
      const sources = [buildSource("no-machine-id.c")];
      buildC({ sources, flags: ["-std=c99", ...STRICT], program, hasOpenSsl: true });
      const license = issuer.license();
      const lease = issuer.lease(license, { nonce: null });
      const child = Bun.spawn([program, issuer.rootKey, PRODUCT, lease, license], {
        stdout: "pipe",
      });
      expect(await child.stdout.text()).toBe(
        "1 invalid_argument: this machine has no machine id: give the option nonce\n",
      );
    });

    // In Turkish, I and i are not the same letter, and numbers have a comma.
    test("makes all calls in a program with the Turkish locale", async () => {
      requirePackages({ "libc-bin": "localedef", locales: "/usr/share/i18n/locales/tr_TR" });
      const [program, folder] = [inWork("turkish"), inWork("locales")];
      mkdirSync(folder);
      Bun.spawnSync(["localedef", "-i", "tr_TR", "-f", "UTF-8", join(folder, "tr_TR.UTF-8")]);
      const driver = join(DRIVERS, "driver.c");
      buildC({ sources: [driver], flags: ["-std=c99", "-O1"], program, hasOpenSsl: true });
      const env = { LC_ALL: "tr_TR.UTF-8", LOCPATH: folder };
      await exercise(new Driver([program], env), nextProduct(), { isC: true });
    });

    for (const [name, instrument] of Object.entries(INSTRUMENTS)) {
      const { flags, prefix = [], env = {}, ...size } = instrument;
      const build = (source: string): string[] => {
        if (prefix.length > 0) requirePackages({ valgrind: "valgrind" });
        const program = inWork(`${name}-${source.split("/").at(-1) ?? ""}.program`);
        const all = ["-std=c99", "-Wall", "-Wextra", "-Werror", ...flags];
        buildC({ sources: [source], flags: all, program, hasOpenSsl: true });
        return [...prefix, program];
      };

      test(`makes all calls with ${name}, without a finding`, async () => {
        const command = build(join(DRIVERS, "driver.c"));
        await exercise(new Driver(command, env), nextProduct(), { ...size, isC: true });
      });

      test(`is used by many threads with ${name}, without a finding`, async () => {
        const product = nextProduct();
        const command = build(buildSource("stress.c"));
        const rounds = prefix.length > 0 ? "8" : "60";
        const child = Bun.spawn([...command, product.url, product.product, rounds], {
          stdout: "pipe",
          stderr: "pipe",
          env,
        });
        const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
        expect({ code: await child.exited, stderr }).toEqual({ code: 0, stderr: "" });
        const { consumed } = JSON.parse(stdout) as { consumed: number };
        expect(consumed).toBeGreaterThan(0);
        expect(await product.total()).toBe(consumed);
        expect(await product.slotsInUse()).toBe(0);
      });
    }
  });
}

/** Runtimes from the npm registry. */
const RUNTIMES = { "Node.js 18": "node@18.20.8", "Deno 2": "deno@2.9.6" };

/** Installs them into a folder; throws what npm prints. */
function installRuntimes(folder: string): void {
  const command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"];
  // An npm that started this process hands its own options on, and some are refused here.
  const ownEntries = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  const { exitCode, stderr } = Bun.spawnSync(
    [...command, "--prefix", folder, ...Object.values(RUNTIMES)],
    { env: Object.fromEntries(ownEntries) },
  );
  if (exitCode !== 0) throw new Error(stderr.toString());
}

interface Runtimes {
  readonly folder: string;
  /** Why they cannot be installed here; null: they are. */
  readonly reason: string | null;
}

function prepareRuntimes(): Runtimes {
  if (Bun.which("npm") === null) return { folder: "", reason: "npm is not installed" };
  try {
    const folder = keepFolder("runtimes", JSON.stringify(RUNTIMES), installRuntimes);
    return { folder, reason: null };
  } catch (error) {
    const isOffline = /E(?:AI_AGAIN|CONNREFUSED|CONNRESET|NOTFOUND|TIMEDOUT|NETUNREACH)/;
    if (!isOffline.test(String(error))) throw error;
    return { folder: "", reason: "the npm registry cannot be reached" };
  }
}

if (isSelected("node")) {
  describe("berth.js", () => {
    const { folder, reason } = prepareRuntimes();
    const commands = {
      // It warns that Ed25519 in WebCrypto is experimental.
      "Node.js 18": [join(folder, "node_modules", ".bin", "node"), "--no-warnings"],
      "Deno 2": [join(folder, "node_modules", ".bin", "deno"), "run", "--allow-all", "--quiet"],
    };

    for (const [name, command] of Object.entries(commands)) {
      testUnless(reason)(`makes all calls with ${name}`, async () => {
        const driver = new Driver([...command, join(DRIVERS, "driver.mjs")]);
        await exercise(driver, nextProduct());
      });
    }
  });
}
