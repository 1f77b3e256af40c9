// `bun run test:systemd [-t PATTERN]`: the service under a real systemd. This script boots a machine,
// and runs the tests of `inside.suite.ts` on it.
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { requirePackages, makeTempFolder } from "../support/suite-harness.ts";
import { formatTally } from "../support/summary.ts";
import { buildAll } from "./builds.ts";
import { Container } from "./container.ts";

/** A test waits for the watchdog and for many restarts; ten times as long as all of them take. */
const TEST_LIMIT = 30 * 60_000;

requirePackages({ debootstrap: "debootstrap", "systemd-container": "systemd-nspawn" });
if (process.getuid?.() !== 0) skipAll("booting a container needs root");
const shared = join(makeTempFolder(), "shared");
mkdirSync(shared);
cpSync(buildBinary(), join(shared, "berth"));
buildAll(shared, join(shared, "..", "work"));
cpSync(process.execPath, join(shared, "bun"));
// The machine has no other files: the tests and their imports become one file.
const bundle = join(shared, "inside.test.js");
const source = join(import.meta.dir, "inside.suite.ts");
const bundled = Bun.spawnSync([
  process.execPath,
  "build",
  "--target=bun",
  `--outfile=${bundle}`,
  source,
]);
if (bundled.exitCode !== 0) throw new Error(bundled.stderr.toString());
const container = await Container.boot([shared]);
if (container === null) skipAll("cannot boot a container");
const bunTest = [join(shared, "bun"), "test", `--timeout=${TEST_LIMIT}`, bundle];
process.exit(
  await container.run(["env", `BERTH_TEST_BUILDS=${shared}`, ...bunTest, ...process.argv.slice(2)]),
);

function skipAll(reason: string): never {
  console.log(`the service under a real systemd is not tested: ${reason}`);
  console.log(formatTally({ passed: 0, failed: 0, skipped: 1 }));
  process.exit(0);
}
