// Cuts the power under a real server and a real ext4; `power-run.ts` says how.
import { beforeAll, describe, expect } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../../support/binary.ts";
import { makeTempFolder, requirePackages, testUnless } from "../../support/suite-harness.ts";
import { LOAD_PROMISES } from "../kill/results.ts";
import { expectKept } from "../shared/promises.ts";
import { findNamespaceObstacle, runInNamespaces } from "./namespaces.ts";
import type { PowerResult } from "./power-run.ts";
import type { PowerPromise } from "./power-site.ts";

const PROMISES: Readonly<Partial<Record<PowerPromise, string>>> = {
  ...LOAD_PROMISES,
  auditLog: "the audit log and the previous checkpoint are intact",
  first: "an appliance that was ready in its first start keeps its identity and keys",
};

const script = join(import.meta.dir, "power-run.ts");
const root = makeTempFolder();

/** Why this machine cannot cut the power of a disk; null: it can. */
async function findObstacle(): Promise<string | null> {
  const obstacle = findNamespaceObstacle();
  if (obstacle !== null) return obstacle;
  requirePackages({
    fuse3: "fusermount3",
    "libfuse3-dev": "/usr/include/fuse3/fuse.h",
    gcc: "gcc",
    "libc6-dev": "/usr/include/stdio.h",
    e2fsprogs: "/sbin/mkfs.ext4",
  });
  const folder = join(root, "probe");
  mkdirSync(folder);
  const { code, stdout } = await runInNamespaces(script, folder, "probe");
  if (code !== 0) throw new Error(`the test disk was not tried: code ${code}`);
  return stdout === "" ? null : stdout;
}

const obstacle = await findObstacle();
const testWithDisk = testUnless(obstacle);

describe("after power cuts", () => {
  let result: PowerResult;

  beforeAll(async () => {
    if (obstacle !== null) return;
    buildBinary();
    const folder = join(root, "run");
    mkdirSync(folder);
    const { code, stdout } = await runInNamespaces(script, folder);
    if (code !== 0) throw new Error(`the run ended with code ${code}`);
    result = JSON.parse(stdout) as PowerResult;
    console.log(result.figures);
  });

  testWithDisk("the test disk itself has a synced file and has lost an unsynced one", () => {
    expect(result.diskCheck).toEqual(["safe", false]);
  });

  for (const [promise, title] of Object.entries(PROMISES)) {
    testWithDisk(title, () => {
      const found = result.violations.filter((violation) => violation.promise === promise);
      expectKept(found.map(({ detail }) => detail));
    });
  }
});
