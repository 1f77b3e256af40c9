// The vendor's desk as a vendor uses it: one command after the other.
import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { signDocument } from "../../src/license/documents/document.ts";
import type { PrivateKey } from "../../src/license/documents/keys.ts";
import { buildBinary } from "../support/binary.ts";
import { runBerth, runOrThrow, runJsonOrThrow } from "../support/run-berth.ts";
import { copyFolder, tempFolder } from "../support/temp-folder.ts";
import { INIT_DESK, withEnd } from "../support/vendor-commands.ts";

class VendorDesk {
  readonly folder = tempFolder();
  readonly deskFlags = ["--dir", join(this.folder, "desk")];
  readonly ledgerPath = join(this.folder, "desk", "ledger.jsonl");

  static async open(): Promise<VendorDesk> {
    const vendor = new VendorDesk();
    await runOrThrow([...INIT_DESK, ...vendor.deskFlags, "--product", "CAD"]);
    return vendor;
  }

  /** A site of this name, in its own folder and without a server. */
  async makeSite(name: string): Promise<StoppedSite> {
    const site = new StoppedSite(this, name);
    mkdirSync(site.folder, { mode: 0o700 });
    await runOrThrow(["admin", "token", "--name", "first", ...site.dataFlags]);
    const document = join(this.folder, "desk/trust.jwt");
    await runOrThrow(["trust", "add", document, ...site.dataFlags, "--yes"]);
    return site;
  }

  issueCommand(request: string, ...terms: string[]): string[] {
    return [
      "vendor",
      "issue",
      ...this.deskFlags,
      "--request",
      request,
      "--allow-weak-binding",
      ...withEnd(terms),
    ];
  }
}

class StoppedSite {
  readonly dataFlags: string[];
  readonly folder: string;
  #requests = 0;

  constructor(vendor: VendorDesk, name: string) {
    this.folder = join(vendor.folder, name);
    this.dataFlags = ["--data", this.folder, "--identity", name];
  }

  async makeRequest(...more: string[]): Promise<string> {
    this.#requests += 1;
    const out = `${this.folder}-${this.#requests}.jwt`;
    await runOrThrow([
      "license",
      "request",
      ...this.dataFlags,
      "--product",
      "CAD",
      "--out",
      out,
      ...more,
    ]);
    return out;
  }
}

describe("the desk's ledger", () => {
  test("is unchanged after a failed write, and the command succeeds when it is run again", async () => {
    const vendor = await VendorDesk.open();
    const site = await vendor.makeSite("site");
    await runOrThrow(vendor.issueCommand(await site.makeRequest(), "--slots", "1"));
    const before = readFileSync(vendor.ledgerPath, "utf8");
    const request = await site.makeRequest();
    // In the middle of the next line, in units of 1024 bytes.
    const units = Math.floor(statSync(vendor.ledgerPath).size / 1_024) + 1;
    const limited = `trap '' XFSZ; ulimit -f ${units}; exec "$@"`;
    const args = vendor.issueCommand(request, "--slots", "2");
    const full = Bun.spawnSync(["bash", "-c", limited, "bash", buildBinary(), ...args], {
      cwd: "/",
      env: {},
    });
    expect([full.exitCode, full.stdout.toString()]).toEqual([1, ""]);
    expect(full.stderr.toString()).toContain("EFBIG");
    expect(readFileSync(vendor.ledgerPath, "utf8")).toBe(before);
    await runOrThrow(args);
    expect(await runJsonOrThrow(["vendor", "list", ...vendor.deskFlags, "--all"])).toHaveLength(2);
  });

  test("is truncated with a warning by the next command after an interrupted write", async () => {
    const vendor = await VendorDesk.open();
    const site = await vendor.makeSite("site");
    await runOrThrow(vendor.issueCommand(await site.makeRequest()));
    const size = statSync(vendor.ledgerPath).size;
    appendFileSync(vendor.ledgerPath, '{"type":"seen","at":"20');
    const listed = await runBerth(["vendor", "list", ...vendor.deskFlags]);
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining("CAD") as string]);
    expect(listed.stderr).toStartWith(
      `berth: warning: ${vendor.ledgerPath} ended in an interrupted write`,
    );
    expect(listed.stderr).toContain(`${vendor.ledgerPath}.${size}.torn`);
    expect(existsSync(`${vendor.ledgerPath}.${size}.torn`)).toBe(true);
    expect(statSync(vendor.ledgerPath).size).toBe(size);
    expect(
      await runBerth(vendor.issueCommand(await site.makeRequest(), "--slots", "3")),
    ).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /^berth: note: license \d+: slots 1 → 3\nberth: note: terms of /,
      ) as string,
    });
  });
});

describe("berth vendor issue", () => {
  test("reports the license key of the license, as text and as JSON", async () => {
    const vendor = await VendorDesk.open();
    const site = await vendor.makeSite("site");
    const out = join(vendor.folder, "license.jwt");
    const keyed = await site.makeRequest("--license-key", "K-PAID-1");
    expect(await runOrThrow(vendor.issueCommand(keyed, "--out", out))).toMatch(
      /^license \d+, serial 1, key K-PAID-1, is written to .*license\.jwt\n$/,
    );
    expect(await runJsonOrThrow(vendor.issueCommand(keyed))).toMatchObject({
      license_key: "K-PAID-1",
    });
    const plain = await site.makeRequest();
    expect(await runJsonOrThrow(vendor.issueCommand(plain, "--new"))).toMatchObject({
      license_key: null,
    });
  });

  test("warns of a request dated in the future, as text and as JSON, and still answers it", async () => {
    const vendor = await VendorDesk.open();
    const site = await vendor.makeSite("site");
    const request = await site.makeRequest();
    const ahead = new Date(Date.now() + 3 * 86_400_000).toISOString();
    await editAndSign(site.folder, request, (payload) => ({ ...payload, created_at: ahead }));
    const issued = await runBerth(vendor.issueCommand(request, "--json"));
    const warning = `the request is dated ${ahead}, more than a day ahead of this desk's clock`;
    expect([issued.code, issued.stderr]).toEqual([0, `berth: warning: ${warning}\n`]);
    expect(JSON.parse(issued.stdout)).toMatchObject({ serial: 1, warnings: [warning] });
    expect(
      await runJsonOrThrow(vendor.issueCommand(await site.makeRequest(), "--slots", "2")),
    ).toMatchObject({
      warnings: [expect.stringContaining("before the last request seen") as string],
    });
  });

  test("refuses a request of a copied site into which the last request's head was inserted", async () => {
    const vendor = await VendorDesk.open();
    const site = await vendor.makeSite("site");
    await runOrThrow(vendor.issueCommand(await site.makeRequest()));
    const copy = copyFolder(site.folder);
    for (let more = 0; more < 3; more += 1) await site.makeRequest();
    const last = await site.makeRequest();
    await runOrThrow(vendor.issueCommand(last, "--slots", "2"));
    const [head] = readPayload(last).heads.slice(-1);

    const request = join(vendor.folder, "copied.jwt");
    const data = ["--data", copy, "--identity", "site"];
    await runOrThrow(["license", "request", ...data, "--product", "CAD", "--out", request]);
    await editAndSign(copy, request, (payload) => ({
      ...payload,
      heads: [...payload.heads.slice(0, -1), head, ...payload.heads.slice(-1)],
    }));
    const refused = await runBerth(vendor.issueCommand(request, "--slots", "3"));
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("does not continue the last one seen");
    expect(refused.stderr).toContain("--accept-fork");
  });
});

interface Payload {
  readonly heads: readonly object[];
}

const readPayload = (path: string): Payload =>
  JSON.parse(
    Buffer.from(readFileSync(path, "utf8").split(".")[1] ?? "", "base64url").toString(),
  ) as Payload;

/** Edits a request and signs it with the site's key, as the site's administrator could. */
async function editAndSign(
  folder: string,
  path: string,
  edit: (payload: Payload) => object,
): Promise<void> {
  const key: unknown = JSON.parse(readFileSync(join(folder, "identity.jwk"), "utf8"));
  const document = await signDocument("request", edit(readPayload(path)), key as PrivateKey);
  writeFileSync(path, `${document}\n`);
}
