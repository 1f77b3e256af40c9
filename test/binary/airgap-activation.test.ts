import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { decodeActivationCode, encodeActivationCode } from "../../src/license/confirmation.ts";
import {
  runBerth,
  runOrThrow,
  runJsonOrThrow,
  isOffline,
  serve,
} from "../support/offline-binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

const KEY = ["--license-key", "K-1"];

class AirgapExchange {
  readonly folder = tempFolder();
  readonly deskFlags = ["--dir", join(this.folder, "desk")];
  readonly dataFlags = ["--data", join(this.folder, "site")];

  async open(...more: string[]) {
    runOrThrow(
      "vendor",
      "init",
      "--no-passphrase",
      "--name",
      "Acme",
      ...this.deskFlags,
      "--product",
      "CAD",
    );
    const server = await serve(join(this.folder, "site"), ...more);
    runOrThrow("trust", "add", join(this.folder, "desk/trust.jwt"), ...this.dataFlags, "--yes");
    return server;
  }

  makePolicy(id: string, ...terms: string[]): string {
    const out = join(this.folder, `${id}.jwt`);
    const named = ["--policy-id", id, "--product", "CAD", "--out", out];
    runOrThrow("vendor", "policy", ...this.deskFlags, ...named, ...terms);
    return out;
  }

  /** What the site reads out, as it stands on the screen. */
  makeActivationCode(...more: string[]): string {
    const said = runOrThrow("airgap", "request", ...this.dataFlags, ...KEY, ...more);
    const [code = "", until = ""] = said.split("\n\n");
    expect(until).toMatch(/^it can be confirmed until \d{4}-\d\d-\d\dT[\d:.]+Z\n$/);
    return code;
  }

  /** What the vendor reads out in return. */
  makeConfirmationCode(policy: string, code: string, ...more: string[]): string {
    const named = ["--policy", policy, ...KEY, "--activation-code", code, "--allow-weak-binding"];
    const said = runOrThrow("vendor", "confirm", ...this.deskFlags, ...named, ...more);
    return said.slice(said.indexOf("\n\n") + 2).trim();
  }

  addCommand(policy: string, code: string): string[] {
    return ["airgap", "add", ...this.dataFlags, "--policy", policy, ...KEY, "--code", code];
  }

  readStatusRow(): string[] {
    const lines = runOrThrow("status", ...this.dataFlags).split("\n");
    return lines.find((line) => line.startsWith("CAD "))?.split(/ {2,}/) ?? [];
  }
}

/** The same activation with the other kind in front, and check symbols that fit. */
function changeToStrong(code: string): string {
  const decoded = decodeActivationCode(code);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.fault));
  expect(decoded.value.weak).toBe(true);
  return encodeActivationCode({ ...decoded.value, weak: false });
}

describe(`by voice, ${isOffline ? "without a network" : "with a network nobody uses"}`, () => {
  test("a license comes in, is replaced by the next code, and is given back", async () => {
    const line = new AirgapExchange();
    const server = await line.open();
    const policy = line.makePolicy("basic", "--slots", "5");
    const code = line.makeConfirmationCode(policy, line.makeActivationCode());
    expect(runOrThrow(...line.addCommand(policy, code))).toMatch(/^license \d+ is installed\n$/);
    const [, id = ""] = line.readStatusRow();
    expect(line.readStatusRow()).toEqual(["CAD", id, "perpetual", "0/5", "-", "never", "ok"]);
    expect(runOrThrow(...line.addCommand(policy, code))).toBe(`license ${id} is installed\n`);

    const late = line.makeConfirmationCode(policy, line.makeActivationCode(), "--serial", "1");
    const more = line.makePolicy("more", "--slots", "9");
    const next = line.makeActivationCode();
    const ending = ["--valid-until", "2099-12-31"];
    const renewed = line.makeConfirmationCode(more, next, ...ending, "--serial", "2");
    const given = ["--policy", more, ...KEY, "--activation-code", next, "--allow-weak-binding"];
    const again = runBerth(
      "vendor",
      "confirm",
      ...line.deskFlags,
      ...given,
      ...ending,
      "--serial",
      "2",
    );
    expect(again.stderr).toBe("berth: note: ends 2100-01-01T00:00:00Z, after 2099-12-31\n");
    expect(runOrThrow(...line.addCommand(more, renewed))).toBe(`license ${id} is installed\n`);
    expect(line.readStatusRow().slice(3)).toEqual(["0/9", "-", "2100-01-01T00:00:00.000Z", "ok"]);
    const stale = runBerth(...line.addCommand(policy, late));
    expect([stale.code, stale.stdout]).toEqual([1, ""]);
    expect(stale.stderr).toContain("(stale_license)");

    const listed = runJsonOrThrow("vendor", "list", ...line.deskFlags, "--all") as {
      readonly serial: number;
      readonly license_id: number;
    }[];
    expect(listed.map(({ serial }) => serial)).toEqual([2, 1, 1]);
    expect(listed.every(({ license_id }) => String(license_id) === id)).toBe(true);
    const receipt = ["license", "remove", id, ...line.dataFlags, "--yes"];
    expect(runOrThrow(...receipt)).toBe(runOrThrow(...receipt));
    expect(line.readStatusRow()).toEqual([]);
    expect(await server.stop()).toBe(0);
  });

  test("a misheard symbol is told by its row, at both ends", async () => {
    const line = new AirgapExchange();
    await line.open();
    const policy = line.makePolicy("basic");
    const heard = (code: string): string =>
      code.replace(/.$/, (last) => (last === "7" ? "8" : "7"));
    const asked = line.makeActivationCode();
    const named = ["--policy", policy, ...KEY, "--allow-weak-binding"];
    const misheard = ["--activation-code", heard(asked)];
    const refused = runBerth("vendor", "confirm", ...line.deskFlags, ...named, ...misheard);
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("row 2 was misread");
    const code = line.makeConfirmationCode(policy, asked);
    const mistyped = runBerth(...line.addCommand(policy, heard(code)));
    expect([mistyped.code, mistyped.stdout]).toEqual([1, ""]);
    expect(mistyped.stderr).toContain("row 6 of the code was misread or mistyped");
    const sloppy = code.toLowerCase().replaceAll(/[-\n]/g, " ");
    expect(runOrThrow(...line.addCommand(policy, sloppy))).toContain("is installed");
  });

  test("with an initialization code, only whoever was given it is confirmed", async () => {
    const line = new AirgapExchange();
    await line.open();
    const policy = line.makePolicy("basic");
    const given = runOrThrow("vendor", "init-code").trim();
    const asked = line.makeActivationCode("--initialization-code", given);
    const wrong = runBerth(...line.addCommand(policy, line.makeConfirmationCode(policy, asked)));
    expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
    expect(wrong.stderr).toContain("(invalid_confirmation_code)");
    const right = line.makeConfirmationCode(policy, asked, "--initialization-code", given);
    expect(runOrThrow(...line.addCommand(policy, right))).toContain("is installed");
  });

  test("what was given back is received by the desk that confirmed it", async () => {
    const line = new AirgapExchange();
    await line.open();
    const policy = line.makePolicy("basic");
    runOrThrow(
      ...line.addCommand(policy, line.makeConfirmationCode(policy, line.makeActivationCode())),
    );
    const [, id = ""] = line.readStatusRow();
    const receipt = join(line.folder, "receipt.jwt");
    runOrThrow("license", "remove", id, ...line.dataFlags, "--yes", "--out", receipt);
    expect(runOrThrow("vendor", "receive", receipt, ...line.deskFlags)).toContain(
      "is recorded as returned",
    );
  });

  test("a weak activation code changed to a strong one confirms nothing at the site", async () => {
    const line = new AirgapExchange();
    await line.open("--identity", "container-7");
    const policy = line.makePolicy("basic");
    const asked = line.makeActivationCode();
    const named = ["vendor", "confirm", ...line.deskFlags, "--policy", policy, ...KEY];
    const weak = runBerth(...named, "--activation-code", asked);
    expect([weak.code, weak.stdout]).toEqual([1, ""]);
    expect(weak.stderr).toContain("weak hardware binding");

    const said = runOrThrow(...named, "--activation-code", changeToStrong(asked));
    const code = said.slice(said.indexOf("\n\n") + 2).trim();
    const refused = runBerth(...line.addCommand(policy, code));
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("(invalid_confirmation_code)");
    expect(line.readStatusRow()).toEqual([]);

    // What the site really read out can still be confirmed, by somebody who agrees to it.
    expect(
      runOrThrow(...line.addCommand(policy, line.makeConfirmationCode(policy, asked))),
    ).toContain("installed");
  });

  test("an end is a day that counts whole, or a midnight, and nothing else", async () => {
    const line = new AirgapExchange();
    await line.open();
    const policy = line.makePolicy("basic");
    const named = ["--policy", policy, ...KEY, "--allow-weak-binding"];
    const asked = ["--activation-code", line.makeActivationCode()];
    const wrong = ["2027-13-01", "31/12/2027", "soon", "2150-01-01", "1970-01-01"];
    for (const end of [...wrong, "never", "2099-12-31T18:00:00Z", "2149-06-06"]) {
      const words = [
        "vendor",
        "confirm",
        ...line.deskFlags,
        ...named,
        ...asked,
        "--valid-until",
        end,
      ];
      const { code, stdout, stderr } = runBerth(...words);
      expect([end, code, stdout]).toEqual([end, 2, ""]);
      expect(stderr).not.toContain(" at ");
    }
    for (const end of ["2149-06-05", "2149-06-06T00:00:00Z"]) {
      const words = [
        "vendor",
        "confirm",
        ...line.deskFlags,
        ...named,
        ...asked,
        "--valid-until",
        end,
      ];
      expect(runJsonOrThrow(...words)).toMatchObject({ valid_until: "2149-06-06T00:00:00.000Z" });
    }
  });
});
