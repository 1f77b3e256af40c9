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
import { INIT_DESK, withEnd } from "../support/vendor-commands.ts";

const network = isOffline ? "without network" : "with an unused network";

interface IssuedLicense {
  readonly license_id: number;
  readonly serial: number;
  readonly document: string;
}

/** A desk and a site that exchange nothing but files. */
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

  /** Creates the desk, and starts a site that trusts it. */
  async open() {
    const created = runOrThrow(...INIT_DESK, ...this.deskFlags, "--product", "CAD");
    const server = await serve(this.path("site"));
    const added = runOrThrow(
      "trust",
      "add",
      this.path("desk/trust.jwt"),
      ...this.dataFlags,
      "--yes",
    );
    const fingerprint = /fingerprint\s+(\S+)/.exec(created)?.[1] ?? "none";
    expect(added).toContain(fingerprint);
    return server;
  }

  makeRequest(out: string, ...more: string[]): void {
    const output = runOrThrow(
      "license",
      "request",
      ...this.dataFlags,
      "--out",
      this.path(out),
      ...more,
    );
    expect(output).toBe(`the request is written to ${this.path(out)}\n`);
  }

  issueLicense(request: string, out: string, ...terms: string[]): void {
    const files = ["--request", this.path(request), "--out", this.path(out)];
    runOrThrow(
      "vendor",
      "issue",
      ...this.deskFlags,
      ...files,
      "--allow-weak-binding",
      ...withEnd(terms),
    );
  }

  addLicense(name: string): string {
    return runOrThrow("license", "add", this.path(name), ...this.dataFlags);
  }

  listIssued(): IssuedLicense[] {
    return runJsonOrThrow("vendor", "list", ...this.deskFlags, "--all") as IssuedLicense[];
  }

  /** The columns of the license's line in the output of `berth status`. */
  readStatusRow(): string[] {
    const lines = runOrThrow("status", ...this.dataFlags).split("\n");
    return lines.find((line) => line.startsWith("CAD "))?.split(/ {2,}/) ?? [];
  }
}

describe(`license exchange by files (${network})`, () => {
  test("installs a license, renews it by request and by --renew, and returns it", async () => {
    const exchange = new OfflineExchange();
    const server = await exchange.open();
    exchange.makeRequest("request.jwt", "--product", "CAD");
    const inspected = runOrThrow("vendor", "inspect", exchange.path("request.jwt"));
    expect(inspected).toStartWith("request: verified, signed by ");
    exchange.issueLicense("request.jwt", "license.jwt", "--slots", "10", "--borrow-hours", "720");
    expect(exchange.addLicense("license.jwt")).toMatch(/^license \d+ for CAD is installed\n$/);
    const [, id = ""] = exchange.readStatusRow();
    expect(exchange.readStatusRow()).toEqual(["CAD", id, "perpetual", "0/10", "-", "never", "ok"]);
    expect(exchange.addLicense("license.jwt")).toBe(`license ${id} for CAD is already installed\n`);

    exchange.makeRequest("second.jwt", "--product", "CAD");
    exchange.issueLicense("second.jwt", "more.jwt", "--slots", "20");
    exchange.addLicense("more.jwt");
    expect(exchange.readStatusRow()).toEqual(["CAD", id, "perpetual", "0/20", "-", "never", "ok"]);

    const year = ["--renew", id, "--valid-until", "2099-12-31", "--out", exchange.path("year.jwt")];
    expect(runOrThrow("vendor", "issue", ...exchange.deskFlags, ...year)).toContain(
      `license ${id}, serial 3,`,
    );
    exchange.addLicense("year.jwt");
    expect(exchange.readStatusRow().slice(3)).toEqual([
      "0/20",
      "-",
      "2100-01-01T00:00:00.000Z",
      "ok",
    ]);

    for (const old of ["license.jwt", "more.jwt"]) {
      const refused = runBerth("license", "add", exchange.path(old), ...exchange.dataFlags);
      expect([refused.code, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain("request a newer license (stale_license)\n");
    }
    expect(exchange.listIssued().map(({ serial }) => serial)).toEqual([3, 2, 1]);
    expect(new Set(exchange.listIssued().map(({ license_id }) => String(license_id)))).toEqual(
      new Set([id]),
    );
    expect(exchange.listIssued()[0]?.document).toBe(exchange.readText("year.jwt").trim());

    const remove = ["license", "remove", id, ...exchange.dataFlags, "--yes", "--out"];
    runOrThrow(...remove, exchange.path("receipt.jwt"));
    runOrThrow(...remove, exchange.path("again.jwt"));
    expect(exchange.readText("again.jwt")).toBe(exchange.readText("receipt.jwt"));
    for (const receipt of ["receipt.jwt", "again.jwt"]) {
      const output = runOrThrow("vendor", "receive", exchange.path(receipt), ...exchange.deskFlags);
      expect(output).toBe(`license ${id}, serial 3, is recorded as returned\n`);
    }
    const received = exchange.readText("desk/ledger.jsonl").match(/"type":"received"/g);
    expect(received).toHaveLength(1);
    expect(exchange.readStatusRow()).toEqual([]);
    expect(
      runBerth("license", "add", exchange.path("year.jwt"), ...exchange.dataFlags).stderr,
    ).toContain("stale_license");
    expect(await server.stop()).toBe(0);
    const stopped = runOrThrow("status", ...exchange.dataFlags);
    expect(stopped).toContain("no server is running");
    expect(stopped).toContain("no licenses yet");
  });

  test("works on a stopped folder, and the server then has the license", async () => {
    const exchange = new OfflineExchange();
    expect(await (await exchange.open()).stop()).toBe(0);
    exchange.makeRequest("request.jwt");
    exchange.issueLicense("request.jwt", "license.jwt", "--product", "CAD", "--slots", "4");
    exchange.addLicense("license.jwt");
    const server = await serve(exchange.path("site"));
    expect(exchange.readStatusRow().slice(3)).toEqual(["0/4", "-", "never", "ok"]);
    expect(await server.stop()).toBe(0);
  });

  test("answers a request again with the same license, and refuses other terms", async () => {
    const exchange = new OfflineExchange();
    await exchange.open();
    exchange.makeRequest("request.jwt", "--product", "CAD");
    exchange.issueLicense("request.jwt", "one.jwt", "--slots", "5");
    exchange.issueLicense("request.jwt", "two.jwt", "--slots", "5");
    expect(exchange.readText("two.jwt")).toBe(exchange.readText("one.jwt"));
    const other = [
      "--request",
      exchange.path("request.jwt"),
      "--allow-weak-binding",
      "--slots",
      "6",
    ];
    const refused = runBerth("vendor", "issue", ...exchange.deskFlags, ...other);
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("this request was already answered with other terms");
    expect(exchange.listIssued()).toHaveLength(1);
  });

  test("verifies documents of every kind, and rejects edited ones", async () => {
    const exchange = new OfflineExchange();
    await exchange.open();
    exchange.makeRequest("request.jwt", "--product", "CAD");
    exchange.issueLicense("request.jwt", "license.jwt", "--slots", "5");
    const documents = [
      ["request", "request.jwt"],
      ["license", "license.jwt"],
      ["trust", "desk/trust.jwt"],
    ] as const;
    for (const [kind, file] of documents) {
      const output = runOrThrow("vendor", "inspect", exchange.path(file), ...exchange.deskFlags);
      expect(output).toStartWith(`${kind}: verified, signed by `);
      const [header = "", payload = "", signature = ""] = exchange.readText(file).trim().split(".");
      const edited = Buffer.from(payload, "base64url").toString().replace("CAD", "CAM");
      const forged = [header, Buffer.from(edited).toString("base64url"), signature].join(".");
      writeFileSync(exchange.path("forged.jwt"), forged);
      const refused = runBerth(
        "vendor",
        "inspect",
        exchange.path("forged.jwt"),
        ...exchange.deskFlags,
      );
      expect([kind, refused.code]).toEqual([kind, 1]);
      expect(refused.stdout).toStartWith(`${kind}: has an invalid signature\n`);
    }
    const tampered = runBerth("license", "add", exchange.path("forged.jwt"), ...exchange.dataFlags);
    expect([tampered.code, tampered.stdout]).toEqual([1, ""]);
  });
});

describe(`license exchange on another machine (${network})`, () => {
  test.skipIf(!canFakeHardware)(
    "gives a copied folder no valid license until the vendor binds it to the new machine",
    async () => {
      const exchange = new OfflineExchange();
      const server = await exchange.open();
      exchange.makeRequest("request.jwt", "--product", "CAD");
      exchange.issueLicense("request.jwt", "license.jwt", "--slots", "5");
      exchange.addLicense("license.jwt");
      expect(await server.stop()).toBe(0);
      const copy = exchange.path("copy");
      cpSync(exchange.path("site"), copy, { recursive: true, preserveTimestamps: true });
      const runOnOtherMachine = makeOtherMachineRunner();
      const parseState = (text: string) => /^CAD .* (\S+)$/m.exec(text)?.[1];
      expect(parseState(runOnOtherMachine("status", "--data", copy))).toBe("hardware_mismatch");
      expect(parseState(runOrThrow("status", ...exchange.dataFlags))).toBe("ok");

      const request = exchange.path("other-machine.jwt");
      runOnOtherMachine("license", "request", "--data", copy, "--product", "CAD", "--out", request);
      exchange.issueLicense("other-machine.jwt", "bound.jwt");
      runOnOtherMachine("license", "add", exchange.path("bound.jwt"), "--data", copy);
      expect(parseState(runOnOtherMachine("status", "--data", copy))).toBe("ok");

      // The first machine makes a request from the old state, and the desk detects the fork.
      exchange.makeRequest("first-machine.jwt", "--product", "CAD");
      const issue = [
        "vendor",
        "issue",
        ...exchange.deskFlags,
        "--request",
        exchange.path("first-machine.jwt"),
      ];
      const refused = runBerth(...issue, "--allow-weak-binding", "--slots", "6");
      expect([refused.code, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain("a restored copy or a cloned machine");
      expect(refused.stderr).toContain("--accept-fork");
      runOrThrow(...issue, "--allow-weak-binding", "--slots", "6", "--accept-fork", "we know");
      expect(exchange.readText("desk/ledger.jsonl")).toContain('"reason":"we know"');
    },
  );
});
