// The vendor's desk as a vendor uses it: one command after the other, each a process of its own.
import { describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signDocument } from "../../src/license/document.ts";
import type { PrivateKey } from "../../src/license/keys.ts";
import { buildBinary } from "../support/binary.ts";
import { berth, done, doneJson } from "../support/gap.ts";
import { copyOf, tempFolder } from "../support/temp-folder.ts";

class Vendor {
  readonly folder = tempFolder();
  readonly desk = ["--dir", join(this.folder, "desk")];
  readonly ledger = join(this.folder, "desk", "ledger.jsonl");

  constructor() {
    done("vendor", "init", "--no-passphrase", "--name", "Acme", ...this.desk, "--product", "CAD");
  }

  /** A site of this name, in a folder of its own and without a server. */
  site(name: string): Site {
    return new Site(this, name);
  }

  issuing(request: string, ...terms: string[]): string[] {
    return [
      "vendor",
      "issue",
      ...this.desk,
      "--request",
      request,
      "--allow-weak-binding",
      ...terms,
    ];
  }
}

class Site {
  readonly data: string[];
  readonly folder: string;
  #requests = 0;

  constructor(vendor: Vendor, name: string) {
    this.folder = join(vendor.folder, name);
    this.data = ["--data", this.folder, "--identity", name];
    Bun.spawnSync(["mkdir", "-m", "700", this.folder]);
    done("admin", "token", "--name", "first", ...this.data);
    done("trust", "add", join(vendor.folder, "desk/trust.jwt"), ...this.data, "--yes");
  }

  request(...more: string[]): string {
    this.#requests += 1;
    const out = `${this.folder}-${this.#requests}.jwt`;
    done("license", "request", ...this.data, "--product", "CAD", "--out", out, ...more);
    return out;
  }
}

describe("the ledger", () => {
  test("is as it was after a full disk, and the next command goes on", () => {
    const vendor = new Vendor();
    const site = vendor.site("site");
    done(...vendor.issuing(site.request(), "--slots", "1"));
    const whole = readFileSync(vendor.ledger, "utf8");
    const request = site.request();
    // In the middle of the next line, in units of 1024 bytes.
    const units = Math.floor(statSync(vendor.ledger).size / 1_024) + 1;
    const limited = `trap '' XFSZ; ulimit -f ${units}; exec "$@"`;
    const words = vendor.issuing(request, "--slots", "2");
    const full = Bun.spawnSync(["bash", "-c", limited, "bash", buildBinary(), ...words], {
      cwd: "/",
      env: {},
    });
    expect([full.exitCode, full.stdout.toString()]).toEqual([1, ""]);
    expect(full.stderr.toString()).toContain("EFBIG");
    expect(readFileSync(vendor.ledger, "utf8")).toBe(whole);
    done(...words);
    expect(doneJson("vendor", "list", ...vendor.desk, "--all")).toHaveLength(2);
  });

  test("whose last write was interrupted is cut with a word about it, by any command", () => {
    const vendor = new Vendor();
    const site = vendor.site("site");
    done(...vendor.issuing(site.request()));
    const size = statSync(vendor.ledger).size;
    appendFileSync(vendor.ledger, '{"type":"seen","at":"20');
    const listed = berth("vendor", "list", ...vendor.desk);
    expect([listed.code, listed.out]).toEqual([0, expect.stringContaining("CAD") as string]);
    expect(listed.err).toStartWith(
      `berth: warning: ${vendor.ledger} ended in an interrupted write`,
    );
    expect(listed.err).toContain(`${vendor.ledger}.${size}.torn`);
    expect(existsSync(`${vendor.ledger}.${size}.torn`)).toBe(true);
    expect(statSync(vendor.ledger).size).toBe(size);
    expect(berth(...vendor.issuing(site.request(), "--slots", "3"))).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^berth: note: license \d+: slots 1 → 3\n$/) as string,
    });
  });
});

describe("vendor issue", () => {
  test("says which license key the license is for, in words and as JSON", () => {
    const vendor = new Vendor();
    const site = vendor.site("site");
    const out = join(vendor.folder, "license.jwt");
    const keyed = site.request("--license-key", "K-PAID-1");
    expect(done(...vendor.issuing(keyed, "--out", out))).toMatch(
      /^license \d+, serial 1, key K-PAID-1, is written to .*license\.jwt\n$/,
    );
    expect(doneJson(...vendor.issuing(keyed))).toMatchObject({ license_key: "K-PAID-1" });
    const plain = site.request();
    expect(doneJson(...vendor.issuing(plain, "--new"))).toMatchObject({ license_key: null });
  });

  test("warns of a request that is dated ahead, in words and as JSON, and answers it", async () => {
    const vendor = new Vendor();
    const site = vendor.site("site");
    const request = site.request();
    const ahead = new Date(Date.now() + 3 * 86_400_000).toISOString();
    await signAgain(site.folder, request, (payload) => ({ ...payload, created_at: ahead }));
    const said = berth(...vendor.issuing(request, "--json"));
    const warning = `the request is dated ${ahead}, more than a day ahead of this desk's clock`;
    expect([said.code, said.err]).toEqual([0, `berth: warning: ${warning}\n`]);
    expect(JSON.parse(said.out)).toMatchObject({ serial: 1, warnings: [warning] });
    expect(doneJson(...vendor.issuing(site.request(), "--slots", "2"))).toMatchObject({
      warnings: [expect.stringContaining("before the last request seen") as string],
    });
  });

  test("stops at a copy of the site into which the last request's head was pasted", async () => {
    const vendor = new Vendor();
    const site = vendor.site("site");
    done(...vendor.issuing(site.request()));
    const copy = copyOf(site.folder);
    for (let more = 0; more < 3; more += 1) site.request();
    const last = site.request();
    done(...vendor.issuing(last, "--slots", "2"));
    const [head] = payloadOf(last).heads.slice(-1);

    const request = join(vendor.folder, "copied.jwt");
    const data = ["--data", copy, "--identity", "site"];
    done("license", "request", ...data, "--product", "CAD", "--out", request);
    await signAgain(copy, request, (payload) => ({
      ...payload,
      heads: [...payload.heads.slice(0, -1), head, ...payload.heads.slice(-1)],
    }));
    const refused = berth(...vendor.issuing(request, "--slots", "3"));
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("does not continue the last one seen");
    expect(refused.err).toContain("--accept-fork");
  });
});

interface Payload {
  readonly heads: readonly object[];
}

const payloadOf = (path: string): Payload =>
  JSON.parse(
    Buffer.from(readFileSync(path, "utf8").split(".")[1] ?? "", "base64url").toString(),
  ) as Payload;

/** What the site's own administrator can do: edit a request, and sign it with the site's key. */
async function signAgain(
  folder: string,
  path: string,
  edit: (payload: Payload) => object,
): Promise<void> {
  const key: unknown = JSON.parse(readFileSync(join(folder, "identity.jwk"), "utf8"));
  const document = await signDocument("request", edit(payloadOf(path)), key as PrivateKey);
  writeFileSync(path, `${document}\n`);
}
