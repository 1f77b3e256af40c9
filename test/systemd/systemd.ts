// The service under a real systemd: this script boots a machine, and `inside.ts` runs the checks on
// it.
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { finish, requirePackages, makeTempFolder, skip } from "../support/suite-harness.ts";
import { buildAll } from "./builds.ts";
import { Container } from "./container.ts";

requirePackages({ debootstrap: "debootstrap", "systemd-container": "systemd-nspawn" });
if (process.getuid?.() !== 0) {
  skip("the service under a real systemd", "booting a container needs root");
  finish();
}
const shared = join(makeTempFolder(), "shared");
mkdirSync(shared);
cpSync(buildBinary(), join(shared, "berth"));
buildAll(shared, join(shared, "..", "work"));
cpSync(process.execPath, join(shared, "bun"));
// Bundles `inside.ts` and its imports into one file.
const bundled = Bun.spawnSync([
  process.execPath,
  "build",
  "--target=bun",
  `--outfile=${join(shared, "inside.js")}`,
  join(import.meta.dir, "inside.ts"),
]);
if (bundled.exitCode !== 0) throw new Error(bundled.stderr.toString());
const container = await Container.boot([shared]);
process.exit(await container.run([join(shared, "bun"), join(shared, "inside.js"), shared]));
