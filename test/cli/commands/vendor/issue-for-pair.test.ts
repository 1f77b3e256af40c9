import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  openHost,
  openPairOfTwo,
  splitLog,
  takeOver,
  type OpenHost,
} from "../../../support/licensed-pair.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { runBerth, runJsonOrThrow, runOrThrow } from "../../../support/run-berth.ts";
import { copyFolder, tempFolder } from "../../../support/temp-folder.ts";
import { withEnd } from "../../../support/vendor-commands.ts";

/** Writes a request of the host for two hosts into a file. */
async function writeRequest({ operations }: OpenHost): Promise<string> {
  const path = join(tempFolder(), "request.jwt");
  const made = unwrap(await operations.licensing.request("sim", null, "test", {}, 2));
  writeFileSync(path, `${made.document}\n`);
  return path;
}

interface Issued {
  readonly hosts: readonly string[];
  readonly pair: { readonly epoch: number } | null;
  readonly warnings: readonly string[];
}

const issueCommand = (dir: string, request: string, ...flags: string[]): string[] => {
  const command = ["vendor", "issue", "--dir", dir, "--request", request, "--slots", "2", "--json"];
  return [...command, ...withEnd(flags)];
};

describe("berth vendor issue for a pair", () => {
  test("asks for --hosts, and then shows the hosts, their lines and the epoch", async () => {
    const { deskFolder, alpha } = await openPairOfTwo();
    const request = await writeRequest(alpha);
    const refused = await runBerth(issueCommand(deskFolder, request));
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("the site asks for a license of two hosts, alpha and beta");
    expect(refused.stderr).toContain("--hosts 2 grants it; --hosts 1 binds the license to alpha");
    const granted = await runBerth(issueCommand(deskFolder, request, "--hosts", "2"));
    expect(granted.stderr).toMatch(
      /note: the request is for two hosts: alpha at line 4 \(.*\), beta has reported no line; alpha leads in epoch 1/,
    );
    const issued = JSON.parse(granted.stdout) as Issued;
    expect([issued.hosts.length, issued.pair?.epoch]).toEqual([2, 1]);
    expect(issued.warnings).toEqual(["host beta has not reported its state yet"]);
    const rows = await runOrThrow(["vendor", "list", "--dir", deskFolder]);
    expect(rows.split("\n")[1]?.split(/ {2,}/).slice(3, 6)).toEqual(["sim", "2", "2"]);
  });

  test("refuses another number of hosts", async () => {
    const { deskFolder, alpha } = await openPairOfTwo();
    const request = await writeRequest(alpha);
    const { code, stderr } = await runBerth(issueCommand(deskFolder, request, "--hosts", "3"));
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("--hosts must be 1 or 2") as string,
    ]);
  });
});

describe("a pair that was split", () => {
  test("is shown by inspect, refused by issue, and shown by list and show once accepted", async () => {
    const { deskFolder, log, alpha } = await openPairOfTwo();
    const two = ["--hosts", "2"];
    await runJsonOrThrow(issueCommand(deskFolder, await writeRequest(alpha), ...two));
    const otherLog = splitLog(log);
    const folder = copyFolder(alpha.folder);
    const beta = await openHost({ log: otherLog, host: "beta", folder });
    await beta.operations.leadership?.step();
    const again = await takeOver(alpha, { log, host: "alpha" });
    await runJsonOrThrow(issueCommand(deskFolder, await writeRequest(again)));

    const request = await writeRequest(beta);
    const finding = "the pair was split: epoch 2 has two leaders";
    const inspected = await runBerth(["vendor", "inspect", request, "--dir", deskFolder]);
    expect([inspected.code, inspected.stderr]).toEqual([0, expect.stringContaining(finding)]);
    const refused = await runBerth(issueCommand(deskFolder, request));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(finding)]);
    const fork = ["--accept-fork", "disaster drill"];
    await runJsonOrThrow(issueCommand(deskFolder, request, ...fork));

    for (const view of ["list", "show"]) {
      const { code, stderr } = await runBerth(["vendor", view, "--dir", deskFolder]);
      expect([code, stderr]).toEqual([0, expect.stringContaining(finding)]);
      expect(stderr).toContain("disaster drill");
    }
    const verified = await runBerth(["vendor", "verify", "--dir", deskFolder]);
    expect(verified.code).toBe(0);
  });
});
