import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  decodeActivationCode,
  encodeActivationCode,
} from "../../src/license/codes/confirmation.ts";
import {
  runBerth,
  runOrThrow,
  runJsonOrThrow,
  isOffline,
  serve,
} from "../support/offline-binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { INIT_DESK, withEnd } from "../support/vendor-commands.ts";

const KEY = ["--license-key", "K-1"];

class AirgapExchange {
  readonly folder = tempFolder();
  readonly deskFlags = ["--dir", join(this.folder, "desk")];
  readonly dataFlags = ["--data", join(this.folder, "site")];

  async open(...more: string[]) {
    runOrThrow(...INIT_DESK, ...this.deskFlags, "--product", "CAD");
    const server = await serve(join(this.folder, "site"), ...more);
    runOrThrow("trust", "add", join(this.folder, "desk/trust.jwt"), ...this.dataFlags, "--yes");
    return server;
  }

  makePolicy(id: string, ...terms: string[]): string {
    const out = join(this.folder, `${id}.jwt`);
    const flags = ["--policy-id", id, "--product", "CAD", "--out", out];
    runOrThrow("vendor", "policy", ...this.deskFlags, ...flags, ...withEnd(terms));
    return out;
  }

  /** The activation code as the site prints it. */
  makeActivationCode(...more: string[]): string {
    const output = runOrThrow("airgap", "request", ...this.dataFlags, ...KEY, ...more);
    const [code = "", until = ""] = output.split("\n\n");
    expect(until).toMatch(/^the vendor can confirm it until \d{4}-\d\d-\d\dT[\d:.]+Z\n$/);
    return code;
  }

  /** The confirmation code as the vendor's desk prints it. */
  makeConfirmationCode(policy: string, code: string, ...more: string[]): string {
    const flags = ["--policy", policy, ...KEY, "--activation-code", code, "--allow-weak-binding"];
    const output = runOrThrow("vendor", "confirm", ...this.deskFlags, ...flags, ...more);
    return output.slice(output.indexOf("\n\n") + 2).trim();
  }

  addCommand(policy: string, code: string): string[] {
    return ["airgap", "add", ...this.dataFlags, "--policy", policy, ...KEY, "--code", code];
  }

  readStatusRow(): string[] {
    const lines = runOrThrow("status", ...this.dataFlags).split("\n");
    return lines.find((line) => line.startsWith("CAD "))?.split(/ {2,}/) ?? [];
  }
}

/** The same activation code, marked as strong and with matching check symbols. */
function changeToStrong(code: string): string {
  const decoded = decodeActivationCode(code);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.fault));
  expect(decoded.value.weak).toBe(true);
  return encodeActivationCode({ ...decoded.value, weak: false });
}

describe(`air-gap activation by voice (${isOffline ? "without" : "with an unused"} network)`, () => {
  test("installs a license, replaces it with the next code, and returns it", async () => {
    const exchange = new AirgapExchange();
    const server = await exchange.open();
    const policy = exchange.makePolicy("basic", "--slots", "5");
    const code = exchange.makeConfirmationCode(policy, exchange.makeActivationCode());
    expect(runOrThrow(...exchange.addCommand(policy, code))).toMatch(
      /^license \d+ is installed\n$/,
    );
    const [, id = ""] = exchange.readStatusRow();
    expect(exchange.readStatusRow()).toEqual(["CAD", id, "perpetual", "0/5", "-", "never", "ok"]);
    expect(runOrThrow(...exchange.addCommand(policy, code))).toBe(`license ${id} is installed\n`);

    const late = exchange.makeConfirmationCode(
      policy,
      exchange.makeActivationCode(),
      "--serial",
      "1",
    );
    const more = exchange.makePolicy("more", "--slots", "9");
    const next = exchange.makeActivationCode();
    const ending = ["--valid-until", "2099-12-31"];
    const renewed = exchange.makeConfirmationCode(more, next, ...ending, "--serial", "2");
    const flags = ["--policy", more, ...KEY, "--activation-code", next, "--allow-weak-binding"];
    const again = runBerth(
      "vendor",
      "confirm",
      ...exchange.deskFlags,
      ...flags,
      ...ending,
      "--serial",
      "2",
    );
    expect(again.stderr).toBe("berth: note: ends 2100-01-01T00:00:00Z, after 2099-12-31\n");
    expect(runOrThrow(...exchange.addCommand(more, renewed))).toBe(`license ${id} is installed\n`);
    expect(exchange.readStatusRow().slice(3)).toEqual([
      "0/9",
      "-",
      "2100-01-01T00:00:00.000Z",
      "ok",
    ]);
    const stale = runBerth(...exchange.addCommand(policy, late));
    expect([stale.code, stale.stdout]).toEqual([1, ""]);
    expect(stale.stderr).toContain("(stale_license)");

    const listed = runJsonOrThrow("vendor", "list", ...exchange.deskFlags, "--all") as {
      readonly serial: number;
      readonly license_id: number;
    }[];
    expect(listed.map(({ serial }) => serial)).toEqual([2, 1, 1]);
    expect(listed.every(({ license_id }) => String(license_id) === id)).toBe(true);
    const receipt = ["license", "remove", id, ...exchange.dataFlags, "--yes"];
    expect(runOrThrow(...receipt)).toBe(runOrThrow(...receipt));
    expect(exchange.readStatusRow()).toEqual([]);
    expect(await server.stop()).toBe(0);
  });

  test("names the row of a misheard symbol, at the desk and at the site", async () => {
    const exchange = new AirgapExchange();
    await exchange.open();
    const policy = exchange.makePolicy("basic");
    const mishear = (code: string): string =>
      code.replace(/.$/, (last) => (last === "7" ? "8" : "7"));
    const activationCode = exchange.makeActivationCode();
    const flags = ["--policy", policy, ...KEY, "--allow-weak-binding"];
    const misheard = ["--activation-code", mishear(activationCode)];
    const refused = runBerth("vendor", "confirm", ...exchange.deskFlags, ...flags, ...misheard);
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("row 2 of the code was misread");
    const code = exchange.makeConfirmationCode(policy, activationCode);
    const mistyped = runBerth(...exchange.addCommand(policy, mishear(code)));
    expect([mistyped.code, mistyped.stdout]).toEqual([1, ""]);
    expect(mistyped.stderr).toContain("row 6 of the code was misread or mistyped");
    const sloppy = code.toLowerCase().replaceAll(/[-\n]/g, " ");
    expect(runOrThrow(...exchange.addCommand(policy, sloppy))).toContain("is installed");
  });

  test("with an initialization code, accepts only a confirmation made with the same code", async () => {
    const exchange = new AirgapExchange();
    await exchange.open();
    const policy = exchange.makePolicy("basic");
    const initializationCode = runOrThrow("vendor", "init-code").trim();
    const activationCode = exchange.makeActivationCode("--initialization-code", initializationCode);
    const wrong = runBerth(
      ...exchange.addCommand(policy, exchange.makeConfirmationCode(policy, activationCode)),
    );
    expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
    expect(wrong.stderr).toContain("(invalid_confirmation_code)");
    const right = exchange.makeConfirmationCode(
      policy,
      activationCode,
      "--initialization-code",
      initializationCode,
    );
    expect(runOrThrow(...exchange.addCommand(policy, right))).toContain("is installed");
  });

  test("lets the desk that confirmed a license receive its return receipt", async () => {
    const exchange = new AirgapExchange();
    await exchange.open();
    const policy = exchange.makePolicy("basic");
    runOrThrow(
      ...exchange.addCommand(
        policy,
        exchange.makeConfirmationCode(policy, exchange.makeActivationCode()),
      ),
    );
    const [, id = ""] = exchange.readStatusRow();
    const receipt = join(exchange.folder, "receipt.jwt");
    runOrThrow("license", "remove", id, ...exchange.dataFlags, "--yes", "--out", receipt);
    expect(runOrThrow("vendor", "receive", receipt, ...exchange.deskFlags)).toContain(
      "is recorded as returned",
    );
  });

  test("refuses the confirmation of a weak activation code that was changed to a strong one", async () => {
    const exchange = new AirgapExchange();
    await exchange.open("--identity", "container-7");
    const policy = exchange.makePolicy("basic");
    const activationCode = exchange.makeActivationCode();
    const confirm = ["vendor", "confirm", ...exchange.deskFlags, "--policy", policy, ...KEY];
    const weak = runBerth(...confirm, "--activation-code", activationCode);
    expect([weak.code, weak.stdout]).toEqual([1, ""]);
    expect(weak.stderr).toContain("weak hardware binding");

    const output = runOrThrow(...confirm, "--activation-code", changeToStrong(activationCode));
    const code = output.slice(output.indexOf("\n\n") + 2).trim();
    const refused = runBerth(...exchange.addCommand(policy, code));
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("(invalid_confirmation_code)");
    expect(exchange.readStatusRow()).toEqual([]);

    // The unchanged code can still be confirmed by a vendor who accepts the weak binding.
    expect(
      runOrThrow(
        ...exchange.addCommand(policy, exchange.makeConfirmationCode(policy, activationCode)),
      ),
    ).toContain("installed");
  });

  test("accepts as --valid-until a day, which counts in full, or a UTC midnight, and nothing else", async () => {
    const exchange = new AirgapExchange();
    await exchange.open();
    const policy = exchange.makePolicy("basic");
    const flags = ["--policy", policy, ...KEY, "--allow-weak-binding"];
    const activation = ["--activation-code", exchange.makeActivationCode()];
    const wrong = ["2027-13-01", "31/12/2027", "soon", "2150-01-01", "1970-01-01"];
    for (const end of [...wrong, "never", "2099-12-31T18:00:00Z", "2149-06-06"]) {
      const args = [
        "vendor",
        "confirm",
        ...exchange.deskFlags,
        ...flags,
        ...activation,
        "--valid-until",
        end,
      ];
      const { code, stdout, stderr } = runBerth(...args);
      expect([end, code, stdout]).toEqual([end, 2, ""]);
      expect(stderr).not.toMatch(/^\s+at /m);
    }
    for (const end of ["2149-06-05", "2149-06-06T00:00:00Z"]) {
      const args = [
        "vendor",
        "confirm",
        ...exchange.deskFlags,
        ...flags,
        ...activation,
        "--valid-until",
        end,
      ];
      expect(runJsonOrThrow(...args)).toMatchObject({ valid_until: "2149-06-06T00:00:00.000Z" });
    }
  });
});
