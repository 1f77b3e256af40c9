import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { decodeActivationCode, encodeActivationCode } from "../../src/license/confirmation.ts";
import { berth, done, doneJson, isOffline, serve } from "../support/gap.ts";
import { tempFolder } from "../support/temp-folder.ts";

const KEY = ["--license-key", "K-1"];

class Line {
  readonly folder = tempFolder();
  readonly desk = ["--dir", join(this.folder, "desk")];
  readonly data = ["--data", join(this.folder, "site")];

  async open(...more: string[]) {
    done("vendor", "init", "--no-passphrase", "--name", "Acme", ...this.desk, "--product", "CAD");
    const server = await serve(join(this.folder, "site"), ...more);
    done("trust", "add", join(this.folder, "desk/trust.jwt"), ...this.data, "--yes");
    return server;
  }

  policy(id: string, ...terms: string[]): string {
    const out = join(this.folder, `${id}.jwt`);
    const named = ["--policy-id", id, "--product", "CAD", "--out", out];
    done("vendor", "policy", ...this.desk, ...named, ...terms);
    return out;
  }

  /** What the site reads out, as it stands on the screen. */
  activation(...more: string[]): string {
    const said = done("airgap", "request", ...this.data, ...KEY, ...more);
    const [code = "", until = ""] = said.split("\n\n");
    expect(until).toMatch(/^it can be confirmed until \d{4}-\d\d-\d\dT[\d:.]+Z\n$/);
    return code;
  }

  /** What the vendor reads out in return. */
  confirmation(policy: string, code: string, ...more: string[]): string {
    const named = ["--policy", policy, ...KEY, "--activation-code", code, "--allow-weak-binding"];
    const said = done("vendor", "confirm", ...this.desk, ...named, ...more);
    return said.slice(said.indexOf("\n\n") + 2).trim();
  }

  adding(policy: string, code: string): string[] {
    return ["airgap", "add", ...this.data, "--policy", policy, ...KEY, "--code", code];
  }

  status(): string[] {
    const lines = done("status", ...this.data).split("\n");
    return lines.find((line) => line.startsWith("CAD "))?.split(/ {2,}/) ?? [];
  }
}

/** The same activation with the other kind in front, and check symbols that fit. */
function asStrong(code: string): string {
  const decoded = decodeActivationCode(code);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.fault));
  expect(decoded.value.weak).toBe(true);
  return encodeActivationCode({ ...decoded.value, weak: false });
}

describe(`by voice, ${isOffline ? "without a network" : "with a network nobody uses"}`, () => {
  test("a license comes in, is replaced by the next code, and is given back", async () => {
    const line = new Line();
    const server = await line.open();
    const policy = line.policy("basic", "--slots", "5");
    const code = line.confirmation(policy, line.activation());
    expect(done(...line.adding(policy, code))).toMatch(/^license \d+ is installed\n$/);
    const [, id = ""] = line.status();
    expect(line.status()).toEqual(["CAD", id, "perpetual", "0/5", "-", "never", "ok"]);
    expect(done(...line.adding(policy, code))).toBe(`license ${id} is installed\n`);

    const late = line.confirmation(policy, line.activation(), "--serial", "1");
    const more = line.policy("more", "--slots", "9");
    const next = line.activation();
    const ending = ["--valid-until", "2099-12-31"];
    const renewed = line.confirmation(more, next, ...ending, "--serial", "2");
    const given = ["--policy", more, ...KEY, "--activation-code", next, "--allow-weak-binding"];
    const again = berth("vendor", "confirm", ...line.desk, ...given, ...ending, "--serial", "2");
    expect(again.err).toBe("berth: note: ends 2100-01-01T00:00:00Z, after 2099-12-31\n");
    expect(done(...line.adding(more, renewed))).toBe(`license ${id} is installed\n`);
    expect(line.status().slice(3)).toEqual(["0/9", "-", "2100-01-01T00:00:00.000Z", "ok"]);
    const stale = berth(...line.adding(policy, late));
    expect([stale.code, stale.out]).toEqual([1, ""]);
    expect(stale.err).toContain("(stale_license)");

    const listed = doneJson("vendor", "list", ...line.desk, "--all") as {
      readonly serial: number;
      readonly license_id: number;
    }[];
    expect(listed.map(({ serial }) => serial)).toEqual([2, 1, 1]);
    expect(listed.every(({ license_id }) => String(license_id) === id)).toBe(true);
    const receipt = ["license", "remove", id, ...line.data, "--yes"];
    expect(done(...receipt)).toBe(done(...receipt));
    expect(line.status()).toEqual([]);
    expect(await server.stop()).toBe(0);
  });

  test("a misheard symbol is told by its row, at both ends", async () => {
    const line = new Line();
    await line.open();
    const policy = line.policy("basic");
    const heard = (code: string): string =>
      code.replace(/.$/, (last) => (last === "7" ? "8" : "7"));
    const asked = line.activation();
    const named = ["--policy", policy, ...KEY, "--allow-weak-binding"];
    const misheard = ["--activation-code", heard(asked)];
    const refused = berth("vendor", "confirm", ...line.desk, ...named, ...misheard);
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("row 2 was misread");
    const code = line.confirmation(policy, asked);
    const mistyped = berth(...line.adding(policy, heard(code)));
    expect([mistyped.code, mistyped.out]).toEqual([1, ""]);
    expect(mistyped.err).toContain("row 6 of the code was misread or mistyped");
    const sloppy = code.toLowerCase().replaceAll(/[-\n]/g, " ");
    expect(done(...line.adding(policy, sloppy))).toContain("is installed");
  });

  test("with an initialization code, only whoever was given it is confirmed", async () => {
    const line = new Line();
    await line.open();
    const policy = line.policy("basic");
    const given = done("vendor", "init-code").trim();
    const asked = line.activation("--initialization-code", given);
    const wrong = berth(...line.adding(policy, line.confirmation(policy, asked)));
    expect([wrong.code, wrong.out]).toEqual([1, ""]);
    expect(wrong.err).toContain("(invalid_confirmation_code)");
    const right = line.confirmation(policy, asked, "--initialization-code", given);
    expect(done(...line.adding(policy, right))).toContain("is installed");
  });

  test("what was given back is received by the desk that confirmed it", async () => {
    const line = new Line();
    await line.open();
    const policy = line.policy("basic");
    done(...line.adding(policy, line.confirmation(policy, line.activation())));
    const [, id = ""] = line.status();
    const receipt = join(line.folder, "receipt.jwt");
    done("license", "remove", id, ...line.data, "--yes", "--out", receipt);
    expect(done("vendor", "receive", receipt, ...line.desk)).toContain("is recorded as returned");
  });

  test("a weak activation code changed to a strong one confirms nothing at the site", async () => {
    const line = new Line();
    await line.open("--identity", "container-7");
    const policy = line.policy("basic");
    const asked = line.activation();
    const named = ["vendor", "confirm", ...line.desk, "--policy", policy, ...KEY];
    const weak = berth(...named, "--activation-code", asked);
    expect([weak.code, weak.out]).toEqual([1, ""]);
    expect(weak.err).toContain("weak hardware binding");

    const said = done(...named, "--activation-code", asStrong(asked));
    const code = said.slice(said.indexOf("\n\n") + 2).trim();
    const refused = berth(...line.adding(policy, code));
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("(invalid_confirmation_code)");
    expect(line.status()).toEqual([]);

    // What the site really read out can still be confirmed, by somebody who agrees to it.
    expect(done(...line.adding(policy, line.confirmation(policy, asked)))).toContain("installed");
  });

  test("an end is a day that counts whole, or a midnight, and nothing else", async () => {
    const line = new Line();
    await line.open();
    const policy = line.policy("basic");
    const named = ["--policy", policy, ...KEY, "--allow-weak-binding"];
    const asked = ["--activation-code", line.activation()];
    const wrong = ["2027-13-01", "31/12/2027", "soon", "2150-01-01", "1970-01-01"];
    for (const end of [...wrong, "never", "2099-12-31T18:00:00Z", "2149-06-06"]) {
      const words = ["vendor", "confirm", ...line.desk, ...named, ...asked, "--valid-until", end];
      const { code, out, err } = berth(...words);
      expect([end, code, out]).toEqual([end, 2, ""]);
      expect(err).not.toContain(" at ");
    }
    for (const end of ["2149-06-05", "2149-06-06T00:00:00Z"]) {
      const words = ["vendor", "confirm", ...line.desk, ...named, ...asked, "--valid-until", end];
      expect(doneJson(...words)).toMatchObject({ valid_until: "2149-06-06T00:00:00.000Z" });
    }
  });
});
