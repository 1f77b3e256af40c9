import { describe, expect, test } from "bun:test";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  makeOtherMachineRunner,
  runBerth,
  canFakeHardware,
  runOrThrow,
  runJsonOrThrow,
  isOffline,
  serve,
} from "../support/offline-binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

const how = isOffline ? "without a network" : "with a network nobody uses";

interface IssuedLicense {
  readonly license_id: number;
  readonly serial: number;
  readonly document: string;
}

/** A desk and a site that know nothing of each other but what is carried between them. */
class OfflineExchange {
  readonly folder = tempFolder();
  readonly deskFlags = ["--dir", this.path("desk")];
  readonly dataFlags = ["--data", this.path("site")];

  path(name: string): string {
    return join(this.folder, name);
  }

  readText(name: string): string {
    return readFileSync(this.path(name), "utf8");
  }

  /** The desk is there, the site runs and trusts it. */
  async open() {
    const made = runOrThrow(
      "vendor",
      "init",
      "--no-passphrase",
      "--name",
      "Acme",
      ...this.deskFlags,
      "--product",
      "CAD",
    );
    const server = await serve(this.path("site"));
    const shown = runOrThrow(
      "trust",
      "add",
      this.path("desk/trust.jwt"),
      ...this.dataFlags,
      "--yes",
    );
    const fingerprint = /fingerprint\s+(\S+)/.exec(made)?.[1] ?? "none";
    expect(shown).toContain(fingerprint);
    return server;
  }

  makeRequest(out: string, ...more: string[]): void {
    const said = runOrThrow(
      "license",
      "request",
      ...this.dataFlags,
      "--out",
      this.path(out),
      ...more,
    );
    expect(said).toBe(`the request is written to ${this.path(out)}\n`);
  }

  issueLicense(request: string, out: string, ...terms: string[]): void {
    const named = ["--request", this.path(request), "--out", this.path(out)];
    runOrThrow("vendor", "issue", ...this.deskFlags, ...named, "--allow-weak-binding", ...terms);
  }

  addLicense(name: string): string {
    return runOrThrow("license", "add", this.path(name), ...this.dataFlags);
  }

  listIssued(): IssuedLicense[] {
    return runJsonOrThrow("vendor", "list", ...this.deskFlags, "--all") as IssuedLicense[];
  }

  /** The license's line in what `berth status` prints, column by column. */
  readStatusRow(): string[] {
    const lines = runOrThrow("status", ...this.dataFlags).split("\n");
    return lines.find((line) => line.startsWith("CAD "))?.split(/ {2,}/) ?? [];
  }
}

describe(`by files, ${how}`, () => {
  test("a license comes in, is renewed in both ways, and is given back", async () => {
    const gap = new OfflineExchange();
    const server = await gap.open();
    gap.makeRequest("request.jwt", "--product", "CAD");
    const asked = runOrThrow("vendor", "inspect", gap.path("request.jwt"));
    expect(asked).toStartWith("request: verified, signed by ");
    gap.issueLicense("request.jwt", "license.jwt", "--slots", "10", "--borrow-hours", "720");
    expect(gap.addLicense("license.jwt")).toMatch(/^license \d+ for CAD is installed\n$/);
    const [, id = ""] = gap.readStatusRow();
    expect(gap.readStatusRow()).toEqual(["CAD", id, "perpetual", "0/10", "-", "never", "ok"]);
    expect(gap.addLicense("license.jwt")).toBe(`license ${id} for CAD is already installed\n`);

    gap.makeRequest("second.jwt", "--product", "CAD");
    gap.issueLicense("second.jwt", "more.jwt", "--slots", "20");
    gap.addLicense("more.jwt");
    expect(gap.readStatusRow()).toEqual(["CAD", id, "perpetual", "0/20", "-", "never", "ok"]);

    const year = ["--renew", id, "--valid-until", "2099-12-31", "--out", gap.path("year.jwt")];
    expect(runOrThrow("vendor", "issue", ...gap.deskFlags, ...year)).toContain(
      `license ${id}, serial 3,`,
    );
    gap.addLicense("year.jwt");
    expect(gap.readStatusRow().slice(3)).toEqual(["0/20", "-", "2100-01-01T00:00:00.000Z", "ok"]);

    for (const old of ["license.jwt", "more.jwt"]) {
      const refused = runBerth("license", "add", gap.path(old), ...gap.dataFlags);
      expect([refused.code, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain("ask for a newer one (stale_license)\n");
    }
    expect(gap.listIssued().map(({ serial }) => serial)).toEqual([3, 2, 1]);
    expect(new Set(gap.listIssued().map(({ license_id }) => String(license_id)))).toEqual(
      new Set([id]),
    );
    expect(gap.listIssued()[0]?.document).toBe(gap.readText("year.jwt").trim());

    const remove = ["license", "remove", id, ...gap.dataFlags, "--yes", "--out"];
    runOrThrow(...remove, gap.path("receipt.jwt"));
    runOrThrow(...remove, gap.path("again.jwt"));
    expect(gap.readText("again.jwt")).toBe(gap.readText("receipt.jwt"));
    for (const receipt of ["receipt.jwt", "again.jwt"]) {
      const said = runOrThrow("vendor", "receive", gap.path(receipt), ...gap.deskFlags);
      expect(said).toBe(`license ${id}, serial 3, is recorded as returned\n`);
    }
    const received = gap.readText("desk/ledger.jsonl").match(/"type":"received"/g);
    expect(received).toHaveLength(1);
    expect(gap.readStatusRow()).toEqual([]);
    expect(runBerth("license", "add", gap.path("year.jwt"), ...gap.dataFlags).stderr).toContain(
      "stale_license",
    );
    expect(await server.stop()).toBe(0);
    const stopped = runOrThrow("status", ...gap.dataFlags);
    expect(stopped).toContain("no server is running");
    expect(stopped).toContain("no licenses yet");
  });

  test("it works with a folder no server holds, and the server then has it", async () => {
    const gap = new OfflineExchange();
    expect(await (await gap.open()).stop()).toBe(0);
    gap.makeRequest("request.jwt");
    gap.issueLicense("request.jwt", "license.jwt", "--product", "CAD", "--slots", "4");
    gap.addLicense("license.jwt");
    const server = await serve(gap.path("site"));
    expect(gap.readStatusRow().slice(3)).toEqual(["0/4", "-", "never", "ok"]);
    expect(await server.stop()).toBe(0);
  });

  test("a request is answered once: the same again is the same, other terms are refused", async () => {
    const gap = new OfflineExchange();
    await gap.open();
    gap.makeRequest("request.jwt", "--product", "CAD");
    gap.issueLicense("request.jwt", "one.jwt", "--slots", "5");
    gap.issueLicense("request.jwt", "two.jwt", "--slots", "5");
    expect(gap.readText("two.jwt")).toBe(gap.readText("one.jwt"));
    const other = ["--request", gap.path("request.jwt"), "--allow-weak-binding", "--slots", "6"];
    const refused = runBerth("vendor", "issue", ...gap.deskFlags, ...other);
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("this request was already answered with other terms");
    expect(gap.listIssued()).toHaveLength(1);
  });

  test("every file says what it is, and one that was edited does not verify", async () => {
    const gap = new OfflineExchange();
    await gap.open();
    gap.makeRequest("request.jwt", "--product", "CAD");
    gap.issueLicense("request.jwt", "license.jwt", "--slots", "5");
    const named = [
      ["request", "request.jwt"],
      ["license", "license.jwt"],
      ["trust", "desk/trust.jwt"],
    ] as const;
    for (const [kind, file] of named) {
      const said = runOrThrow("vendor", "inspect", gap.path(file), ...gap.deskFlags);
      expect(said).toStartWith(`${kind}: verified, signed by `);
      const [header = "", payload = "", signature = ""] = gap.readText(file).trim().split(".");
      const edited = Buffer.from(payload, "base64url").toString().replace("CAD", "CAM");
      const forged = [header, Buffer.from(edited).toString("base64url"), signature].join(".");
      writeFileSync(gap.path("forged.jwt"), forged);
      const refused = runBerth("vendor", "inspect", gap.path("forged.jwt"), ...gap.deskFlags);
      expect([kind, refused.code]).toEqual([kind, 1]);
      expect(refused.stdout).toStartWith(`${kind}: has an invalid signature\n`);
    }
    const tampered = runBerth("license", "add", gap.path("forged.jwt"), ...gap.dataFlags);
    expect([tampered.code, tampered.stdout]).toEqual([1, ""]);
  });
});

describe(`on another machine, ${canFakeHardware ? how : "not tried here"}`, () => {
  test.skipIf(!canFakeHardware)(
    "a copied folder serves nothing until it is bound anew",
    async () => {
      const gap = new OfflineExchange();
      const server = await gap.open();
      gap.makeRequest("request.jwt", "--product", "CAD");
      gap.issueLicense("request.jwt", "license.jwt", "--slots", "5");
      gap.addLicense("license.jwt");
      expect(await server.stop()).toBe(0);
      const copy = gap.path("copy");
      cpSync(gap.path("site"), copy, { recursive: true, preserveTimestamps: true });
      const there = makeOtherMachineRunner();
      const state = (text: string) => /^CAD .* (\S+)$/m.exec(text)?.[1];
      expect(state(there("status", "--data", copy))).toBe("hardware_mismatch");
      expect(state(runOrThrow("status", ...gap.dataFlags))).toBe("ok");

      const asked = gap.path("asked-there.jwt");
      there("license", "request", "--data", copy, "--product", "CAD", "--out", asked);
      gap.issueLicense("asked-there.jwt", "bound.jwt");
      there("license", "add", gap.path("bound.jwt"), "--data", copy);
      expect(state(there("status", "--data", copy))).toBe("ok");

      // The machine it was copied from goes on where it stood, and the desk notices.
      gap.makeRequest("asked-here.jwt", "--product", "CAD");
      const issue = ["vendor", "issue", ...gap.deskFlags, "--request", gap.path("asked-here.jwt")];
      const refused = runBerth(...issue, "--allow-weak-binding", "--slots", "6");
      expect([refused.code, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain("a restored copy or a cloned machine");
      expect(refused.stderr).toContain("--accept-fork");
      runOrThrow(...issue, "--allow-weak-binding", "--slots", "6", "--accept-fork", "we know");
      expect(gap.readText("desk/ledger.jsonl")).toContain('"reason":"we know"');
    },
  );
});
