// The recipes of the operating guide for `berth run`, with the real Make and the real Slurm.
import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { ContendedSite } from "../support/contended-site.ts";
import { codeBlocksIn } from "../support/documents.ts";
import { requirePackages, testUnless } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { SLURM_PACKAGES, SlurmCluster } from "./slurm-cluster.ts";

const SLOTS = 6;
const JOBS = 14;
/** Far longer than a test waits, so that only a release frees a slot. */
const LONG_TIMEOUT = { slots: SLOTS, timeoutMinutes: 60 };

/** A recipe of the operating guide, by a text that it contains. */
function readRecipe(language: string, text: string): string {
  const blocks = codeBlocksIn(language).filter(
    (block) => block.document === "src/cli/README.md" && block.text.includes(text),
  );
  expect(blocks).toHaveLength(1);
  return blocks[0]?.text ?? "";
}

/** The variables of a user whose machine has Berth and the address of the server. */
const jobEnvironment = (site: ContendedSite): Record<string, string> => ({
  PATH: `${dirname(buildBinary())}:${process.env["PATH"]}`,
  BERTH_SERVER: site.url,
});

async function expectAllDone(site: ContendedSite): Promise<void> {
  expect([site.countStarted(), site.countEnded(), site.countMostAtOnce()]).toEqual([
    JOBS,
    JOBS,
    SLOTS,
  ]);
  expect([await site.countSlotsInUse(), await site.countWaiting()]).toEqual([0, 0]);
}

describe("the recipe for Make", () => {
  beforeAll(() => requirePackages({ make: "make" }));

  test("runs 14 targets of make -j 14 with 6 slots", async () => {
    const site = await ContendedSite.open(LONG_TIMEOUT);
    writeFileSync(join(site.folder, "Makefile"), readRecipe("make", "berth run"));
    const names = Array.from({ length: JOBS }, (_, index) => `part-${index}`);
    for (const name of names) writeFileSync(join(site.folder, `${name}.model`), "");
    const make = Bun.spawn(["make", "-j", "14", ...names.map((name) => `${name}.result`)], {
      cwd: site.folder,
      env: jobEnvironment(site),
      stdout: "ignore",
      stderr: "pipe",
    });
    const stderr = make.stderr.text();
    await site.waitForContention(SLOTS, JOBS - SLOTS);
    site.letJobsEnd();
    expect([await make.exited, (await stderr).replaceAll(/^berth: note: .*\n/gm, "")]).toEqual([
      0,
      "",
    ]);
    for (const name of names) {
      const result = readFileSync(join(site.folder, `${name}.result`), "utf8");
      expect(result).toBe(`result of ${name}.model\n`);
    }
    await expectAllDone(site);
  });
});

const needsRoot = process.getuid?.() === 0 ? null : "Slurm's daemons need root";

describe("the recipe for Slurm", () => {
  let cluster: SlurmCluster;

  beforeAll(async () => {
    if (needsRoot !== null) return;
    requirePackages(SLURM_PACKAGES);
    cluster = new SlurmCluster();
    await cluster.waitUntilIdle();
  });

  async function openSite() {
    const site = await ContendedSite.open(LONG_TIMEOUT);
    writeFileSync(join(site.folder, "job.sh"), readRecipe("sh", "#SBATCH"));
    const env = { ...cluster.environment, ...jobEnvironment(site) };
    const submit = (...flags: string[]) =>
      Bun.spawn(["sbatch", "--ntasks=1", ...flags, "job.sh"], {
        cwd: site.folder,
        env,
        stdout: "pipe",
        stderr: "inherit",
      });
    return { site, submit };
  }

  testUnless(needsRoot)("runs 14 jobs with 6 slots", async () => {
    const { site, submit } = await openSite();
    const jobs = Array.from({ length: JOBS }, () => submit("--wait"));
    await site.waitForContention(SLOTS, JOBS - SLOTS);
    site.letJobsEnd();
    expect(await Promise.all(jobs.map((job) => job.exited))).toEqual(jobs.map(() => 0));
    await expectAllDone(site);
  });

  testUnless(needsRoot)("releases the slot of a job that scancel ends", async () => {
    const { site, submit } = await openSite();
    const number = (await submit("--parsable").stdout.text()).trim();
    await waitUntil(() => site.countStarted() === 1);
    expect(await site.countSlotsInUse()).toBe(1);
    expect(cluster.run(["scancel", number]).exitCode).toBe(0);
    await waitUntil(async () => (await site.countSlotsInUse()) === 0);
    expect(site.countEnded()).toBe(0);
    await cluster.waitUntilIdle();
  });
});
