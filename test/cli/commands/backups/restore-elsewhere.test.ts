// A backup is restored on other machines, which have other names for their hardware here.
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OfflineExchange } from "../../../support/offline-exchange.ts";
import { runBerth, runJsonOrThrow, runOrThrow } from "../../../support/run-berth.ts";
import { withEnd } from "../../../support/vendor-commands.ts";

interface Status {
  readonly licenses: readonly {
    readonly refusal: string | null;
    readonly restored_until: string | null;
  }[];
  readonly findings: readonly { readonly code: string }[];
}

interface Restored {
  readonly lost_changes: number | null;
  readonly licenses_for_other_hosts: readonly object[];
}

class LostSite extends OfflineExchange {
  readonly backup = this.path("site.berth");
  #files = 0;

  /** A site on the machine `old`, its license and its backup. */
  static async open(...terms: string[]): Promise<LostSite> {
    const site = new LostSite();
    await site.makeDesk("CAD");
    await site.makeSite();
    await runOrThrow([...site.trustCommand("trust.jwt"), "--yes"]);
    const { result, license } = await site.issue(
      await site.requestFrom("old", "site"),
      "--slots",
      "5",
      ...terms,
    );
    expect(result.stderr).toContain(
      terms.length === 0 ? "" : "every slot can be used twice if the old machine still runs",
    );
    await runOrThrow(["license", "add", license, ...on("old", site.path("site"))]);
    await runOrThrow(["backup", site.backup, ...site.dataFlags]);
    return site;
  }

  restoreOn(machine: string): Promise<Restored> {
    return runJsonOrThrow(["restore", this.backup, ...on(machine, this.path(machine))]);
  }

  /** Returns the path of the request. */
  async requestFrom(machine: string, folder = machine): Promise<string> {
    const out = this.#newPath();
    const flags = ["--product", "CAD", "--out", out, ...on(machine, this.path(folder))];
    await runOrThrow(["license", "request", ...flags]);
    return out;
  }

  async issue(request: string, ...flags: string[]) {
    const license = this.#newPath();
    const files = ["--request", request, "--out", license, "--allow-weak-binding"];
    return {
      license,
      result: await runBerth(["vendor", "issue", ...this.deskFlags, ...files, ...withEnd(flags)]),
    };
  }

  #newPath(): string {
    this.#files += 1;
    return this.path(`document-${this.#files}.jwt`);
  }

  status(machine: string): Promise<Status> {
    return runJsonOrThrow(["status", ...on(machine, this.path(machine))]);
  }
}

const on = (machine: string, folder: string): string[] => ["--identity", machine, "--data", folder];

const GRACE = ["--restore-grace-hours", "48"];

describe("a backup that is restored on another machine", () => {
  test("serves for the grace period that the vendor sold, and asks for a license", async () => {
    const site = await LostSite.open(...GRACE);
    const before = Date.now();
    const { licenses_for_other_hosts } = await site.restoreOn("new");
    expect(licenses_for_other_hosts).toEqual([
      {
        license_id: expect.any(Number),
        product: "CAD",
        serial: 1,
        restored_until: expect.any(String),
      },
    ]);
    const { licenses, findings } = await site.status("new");
    expect(licenses.map(({ refusal }) => refusal)).toEqual([null]);
    expect(findings.map(({ code }) => code)).toContain("license_restored");
    const end = Date.parse(licenses[0]?.restored_until ?? "");
    expect(end).toBeGreaterThanOrEqual(before + 48 * 3_600_000);
    expect(end).toBeLessThanOrEqual(Date.now() + 48 * 3_600_000);
    expect(await runOrThrow(["status", ...on("new", site.path("new"))])).toMatch(/CAD .*restored/);
  });

  test("grants no slots without that term, and says so at once", async () => {
    const site = await LostSite.open();
    const text = await runOrThrow(["restore", site.backup, ...on("new", site.path("new"))]);
    expect(text).toMatch(
      /^ {2}CAD: license \d+ was issued for another machine, grants no slots here$/m,
    );
    expect(text).toContain("berth license request --product CODE --out FILE");
    const { licenses } = await site.status("new");
    expect(licenses).toMatchObject([{ refusal: "hardware_mismatch", restored_until: null }]);
  });

  test("names its serial to the desk, which refuses a second restore of it", async () => {
    const site = await LostSite.open(...GRACE);
    await site.restoreOn("new");
    const request = await site.requestFrom("new");
    const { result: first } = await site.issue(request);
    expect(first.code).toBe(0);
    expect(first.stderr).toMatch(
      /the site restored a backup of line \d+ on \S+, on other hardware: license \d+, serial 1,/,
    );
    // The same request again is the same restore.
    expect((await site.issue(request)).result.code).toBe(0);

    await site.restoreOn("third");
    const again = await site.requestFrom("third");
    const { result: second } = await site.issue(again);
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/license \d+, serial 1, was restored on other hardware twice/);
    expect(second.stderr).toContain("does not continue the last one seen");
    const { result: accepted } = await site.issue(again, "--accept-fork", "two machines died");
    expect(accepted.code).toBe(0);
  });

  test("is refused by the desk for a third machine, although its audit log continues", async () => {
    const site = await LostSite.open(...GRACE);
    await site.restoreOn("new");
    expect((await site.issue(await site.requestFrom("new"))).result.code).toBe(0);
    const backup = site.path("new.berth");
    await runOrThrow(["backup", backup, "--data", site.path("new")]);
    await runOrThrow(["restore", backup, ...on("third", site.path("third"))]);
    const { result } = await site.issue(await site.requestFrom("third"));
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(
      /error: license \d+, serial 1, was restored on other hardware twice/,
    );
  });

  test("serves with the license for the new machine, and the grace period is over", async () => {
    const site = await LostSite.open(...GRACE);
    await site.restoreOn("new");
    const { license } = await site.issue(await site.requestFrom("new"));
    await runOrThrow(["license", "add", license, ...on("new", site.path("new"))]);
    const { licenses, findings } = await site.status("new");
    expect(licenses).toMatchObject([{ refusal: null, restored_until: null }]);
    expect(findings.map(({ code }) => code)).not.toContain("license_restored");
  });
});

describe("a backup that is restored on the machine of its licenses", () => {
  test("uses no grace period, and prints no steps for another machine", async () => {
    const site = await LostSite.open(...GRACE);
    const restore = ["restore", site.backup, ...on("old", site.path("site"))];
    const text = await runOrThrow(restore);
    expect(text).not.toContain("another machine");
    expect(text).not.toContain("site CA");
    const { result } = await site.issue(await site.requestFrom("old", "site"));
    expect([result.code, result.stderr]).toEqual([
      0,
      expect.not.stringContaining("other hardware"),
    ]);
  });
});

describe("restore into a folder of another appliance", () => {
  test("needs no --accept-loss if that appliance never had a license", async () => {
    const site = await LostSite.open();
    const fresh = site.path("new");
    await site.makeSiteIn(fresh);
    await runOrThrow(["admin", "token", "--data", fresh]);
    const { lost_changes } = await site.restoreOn("new");
    expect(lost_changes).toBe(0);
  });

  test("needs it if that appliance has a license", async () => {
    const [site, other] = [await LostSite.open(), await LostSite.open()];
    const refused = await runBerth(["restore", site.backup, ...on("old", other.path("site"))]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("--accept-loss");
  });
});

/** As `berth tls init` leaves it. */
function addSiteCa(folder: string): void {
  mkdirSync(join(folder, "tls"));
  writeFileSync(join(folder, "tls", "ca.pem"), "the CA of this machine");
}

describe("the steps that are printed for a new machine", () => {
  test("name the site CA that clients trust, and a missing credential", async () => {
    const site = await LostSite.open();
    const text = await runOrThrow(["restore", site.backup, ...on("new", site.path("new"))]);
    expect(text).toContain("trust the site CA of the other machine, which is not here");
    expect(text).toContain("berth tls init --ca-dir DIR");
    expect(text).toContain("berth admin token");
  });

  test("do not ask for the token and the certificate of an installation", async () => {
    const site = await LostSite.open();
    const folder = site.path("new");
    await site.makeSiteIn(folder);
    await runOrThrow(["admin", "token", "--data", folder]);
    addSiteCa(folder);
    const text = await runOrThrow(["restore", site.backup, ...on("new", folder)]);
    expect(text).toContain("refuse the one that is here");
    expect(text).not.toContain("berth admin token");
  });

  test("are printed by a move, which first reminds of the folder of the site CA", async () => {
    const site = await LostSite.open();
    const folder = site.path("site");
    const [first, second] = [site.path("first.move"), site.path("second.move")];
    const moveOut = ["move", "out", "--yes", ...on("old", folder)];
    expect(await runOrThrow([...moveOut, first])).not.toContain("Take along");
    addSiteCa(folder);
    expect(await runOrThrow([...moveOut, second])).toContain(`Take along, too:  ${folder}-ca,`);
    const moved = await runOrThrow(["move", "in", first, "--data", site.path("new")]);
    expect(moved).toContain("berth tls init --ca-dir DIR");
    // The same machine has its CA and its credentials.
    expect(await runOrThrow(["move", "in", first, "--data", folder])).not.toContain("--ca-dir");
  });
});
