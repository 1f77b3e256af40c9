import { describe, expect, test } from "bun:test";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  anotherMachine,
  berth,
  canDisguise,
  done,
  doneJson,
  isOffline,
  serve,
} from "../support/gap.ts";
import { tempFolder } from "../support/temp-folder.ts";

const how = isOffline ? "without a network" : "with a network nobody uses";

interface Issued {
  readonly license_id: number;
  readonly serial: number;
  readonly document: string;
}

/** A desk and a site that know nothing of each other but what is carried between them. */
class Gap {
  readonly folder = tempFolder();
  readonly desk = ["--dir", this.path("desk")];
  readonly data = ["--data", this.path("site")];

  path(name: string): string {
    return join(this.folder, name);
  }

  text(name: string): string {
    return readFileSync(this.path(name), "utf8");
  }

  /** The desk is there, the site runs and trusts it. */
  async open() {
    const made = done(
      "vendor",
      "init",
      "--no-passphrase",
      "--name",
      "Acme",
      ...this.desk,
      "--product",
      "CAD",
    );
    const server = await serve(this.path("site"));
    const shown = done("trust", "add", this.path("desk/trust.jwt"), ...this.data, "--yes");
    const fingerprint = /fingerprint\s+(\S+)/.exec(made)?.[1] ?? "none";
    expect(shown).toContain(fingerprint);
    return server;
  }

  request(out: string, ...more: string[]): void {
    const said = done("license", "request", ...this.data, "--out", this.path(out), ...more);
    expect(said).toBe(`the request is written to ${this.path(out)}\n`);
  }

  answer(request: string, out: string, ...terms: string[]): void {
    const named = ["--request", this.path(request), "--out", this.path(out)];
    done("vendor", "issue", ...this.desk, ...named, "--allow-weak-binding", ...terms);
  }

  add(name: string): string {
    return done("license", "add", this.path(name), ...this.data);
  }

  issued(): Issued[] {
    return doneJson("vendor", "list", ...this.desk, "--all") as Issued[];
  }

  /** The license's line in what `berth status` prints, column by column. */
  status(): string[] {
    const lines = done("status", ...this.data).split("\n");
    return lines.find((line) => line.startsWith("CAD "))?.split(/ {2,}/) ?? [];
  }
}

describe(`by files, ${how}`, () => {
  test("a license comes in, is renewed in both ways, and is given back", async () => {
    const gap = new Gap();
    const server = await gap.open();
    gap.request("request.jwt", "--product", "CAD");
    const asked = done("vendor", "inspect", gap.path("request.jwt"));
    expect(asked).toStartWith("request: verified, signed by ");
    gap.answer("request.jwt", "license.jwt", "--slots", "10", "--borrow-hours", "720");
    expect(gap.add("license.jwt")).toMatch(/^license \d+ for CAD is installed\n$/);
    const [, id = ""] = gap.status();
    expect(gap.status()).toEqual(["CAD", id, "perpetual", "0/10", "-", "never", "ok"]);
    expect(gap.add("license.jwt")).toBe(`license ${id} for CAD is already installed\n`);

    gap.request("second.jwt", "--product", "CAD");
    gap.answer("second.jwt", "more.jwt", "--slots", "20");
    gap.add("more.jwt");
    expect(gap.status()).toEqual(["CAD", id, "perpetual", "0/20", "-", "never", "ok"]);

    const year = ["--renew", id, "--valid-until", "2099-12-31", "--out", gap.path("year.jwt")];
    expect(done("vendor", "issue", ...gap.desk, ...year)).toContain(`license ${id}, serial 3,`);
    gap.add("year.jwt");
    expect(gap.status().slice(3)).toEqual(["0/20", "-", "2100-01-01T00:00:00.000Z", "ok"]);

    for (const old of ["license.jwt", "more.jwt"]) {
      const refused = berth("license", "add", gap.path(old), ...gap.data);
      expect([refused.code, refused.out]).toEqual([1, ""]);
      expect(refused.err).toContain("ask for a newer one (stale_license)\n");
    }
    expect(gap.issued().map(({ serial }) => serial)).toEqual([3, 2, 1]);
    expect(new Set(gap.issued().map(({ license_id }) => String(license_id)))).toEqual(
      new Set([id]),
    );
    expect(gap.issued()[0]?.document).toBe(gap.text("year.jwt").trim());

    const remove = ["license", "remove", id, ...gap.data, "--yes", "--out"];
    done(...remove, gap.path("receipt.jwt"));
    done(...remove, gap.path("again.jwt"));
    expect(gap.text("again.jwt")).toBe(gap.text("receipt.jwt"));
    for (const receipt of ["receipt.jwt", "again.jwt"]) {
      const said = done("vendor", "receive", gap.path(receipt), ...gap.desk);
      expect(said).toBe(`license ${id}, serial 3, is recorded as returned\n`);
    }
    const received = gap.text("desk/ledger.jsonl").match(/"type":"received"/g);
    expect(received).toHaveLength(1);
    expect(gap.status()).toEqual([]);
    expect(berth("license", "add", gap.path("year.jwt"), ...gap.data).err).toContain(
      "stale_license",
    );
    expect(await server.stop()).toBe(0);
    const stopped = done("status", ...gap.data);
    expect(stopped).toContain("no server is running");
    expect(stopped).toContain("no licenses yet");
  });

  test("it works with a folder no server holds, and the server then has it", async () => {
    const gap = new Gap();
    expect(await (await gap.open()).stop()).toBe(0);
    gap.request("request.jwt");
    gap.answer("request.jwt", "license.jwt", "--product", "CAD", "--slots", "4");
    gap.add("license.jwt");
    const server = await serve(gap.path("site"));
    expect(gap.status().slice(3)).toEqual(["0/4", "-", "never", "ok"]);
    expect(await server.stop()).toBe(0);
  });

  test("a request is answered once: the same again is the same, other terms are refused", async () => {
    const gap = new Gap();
    await gap.open();
    gap.request("request.jwt", "--product", "CAD");
    gap.answer("request.jwt", "one.jwt", "--slots", "5");
    gap.answer("request.jwt", "two.jwt", "--slots", "5");
    expect(gap.text("two.jwt")).toBe(gap.text("one.jwt"));
    const other = ["--request", gap.path("request.jwt"), "--allow-weak-binding", "--slots", "6"];
    const refused = berth("vendor", "issue", ...gap.desk, ...other);
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("this request was already answered with other terms");
    expect(gap.issued()).toHaveLength(1);
  });

  test("every file says what it is, and one that was edited does not verify", async () => {
    const gap = new Gap();
    await gap.open();
    gap.request("request.jwt", "--product", "CAD");
    gap.answer("request.jwt", "license.jwt", "--slots", "5");
    const named = [
      ["request", "request.jwt"],
      ["license", "license.jwt"],
      ["trust", "desk/trust.jwt"],
    ] as const;
    for (const [kind, file] of named) {
      const said = done("vendor", "inspect", gap.path(file), ...gap.desk);
      expect(said).toStartWith(`${kind}: verified, signed by `);
      const [header = "", payload = "", signature = ""] = gap.text(file).trim().split(".");
      const edited = Buffer.from(payload, "base64url").toString().replace("CAD", "CAM");
      const forged = [header, Buffer.from(edited).toString("base64url"), signature].join(".");
      writeFileSync(gap.path("forged.jwt"), forged);
      const refused = berth("vendor", "inspect", gap.path("forged.jwt"), ...gap.desk);
      expect([kind, refused.code]).toEqual([kind, 1]);
      expect(refused.out).toStartWith(`${kind}: has an invalid signature\n`);
    }
    const tampered = berth("license", "add", gap.path("forged.jwt"), ...gap.data);
    expect([tampered.code, tampered.out]).toEqual([1, ""]);
  });
});

describe(`on another machine, ${canDisguise ? how : "not tried here"}`, () => {
  test.skipIf(!canDisguise)("a copied folder serves nothing until it is bound anew", async () => {
    const gap = new Gap();
    const server = await gap.open();
    gap.request("request.jwt", "--product", "CAD");
    gap.answer("request.jwt", "license.jwt", "--slots", "5");
    gap.add("license.jwt");
    expect(await server.stop()).toBe(0);
    const copy = gap.path("copy");
    cpSync(gap.path("site"), copy, { recursive: true, preserveTimestamps: true });
    const there = anotherMachine();
    const state = (text: string) => /^CAD .* (\S+)$/m.exec(text)?.[1];
    expect(state(there("status", "--data", copy))).toBe("hardware_mismatch");
    expect(state(done("status", ...gap.data))).toBe("ok");

    const asked = gap.path("asked-there.jwt");
    there("license", "request", "--data", copy, "--product", "CAD", "--out", asked);
    gap.answer("asked-there.jwt", "bound.jwt");
    there("license", "add", gap.path("bound.jwt"), "--data", copy);
    expect(state(there("status", "--data", copy))).toBe("ok");

    // The machine it was copied from goes on where it stood, and the desk notices.
    gap.request("asked-here.jwt", "--product", "CAD");
    const issue = ["vendor", "issue", ...gap.desk, "--request", gap.path("asked-here.jwt")];
    const refused = berth(...issue, "--allow-weak-binding", "--slots", "6");
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("a restored copy or a cloned machine");
    expect(refused.err).toContain("--accept-fork");
    done(...issue, "--allow-weak-binding", "--slots", "6", "--accept-fork", "we know");
    expect(gap.text("desk/ledger.jsonl")).toContain('"reason":"we know"');
  });
});
