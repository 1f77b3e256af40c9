import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { checkTokens } from "../../src/cli/doctor/tokens.ts";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { isTokenDue } from "../../src/cli/service/admin-token.ts";
import { DAY } from "../../src/domain/time.ts";
import type { AccessReply } from "../../src/http/routes/access.ts";
import type { StatusReply } from "../../src/http/status.ts";
import { runBerth, runOrThrow, runJsonOrThrow, startServer } from "../support/run-berth.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function site(): Promise<readonly ["--data", string]> {
  const data = join(tempFolder(), "data");
  await makeLicensedSite(data, { product: "cad" });
  return ["--data", data];
}

const PASSWORD = { stdin: "correct horse battery\n" };

describe("berth admin token", () => {
  test("makes a token that ends after a year, and doctor has nothing to say about it", async () => {
    const data = await site();
    expect(await runOrThrow(["admin", "token", "--name", "ops", ...data])).toMatch(
      /^token ops, until /,
    );
    const { tokens } = await runJsonOrThrow<AccessReply>(["admin", "user", "list", ...data]);
    const [{ created_at, expires_at } = { created_at: "", expires_at: "" }] = tokens;
    expect(Date.parse(expires_at ?? "") - Date.parse(created_at)).toBe(365 * DAY);
    await startServer(["serve", ...data]);
    const { findings } = JSON.parse((await runBerth(["doctor", "--json", ...data])).stdout) as {
      readonly findings: readonly Finding[];
    };
    expect(findings.filter(({ finding }) => finding.includes("token"))).toEqual([]);
    const { exposures } = await runJsonOrThrow<StatusReply>(["status", ...data]);
    expect(exposures.filter(({ finding }) => finding.includes("token"))).toEqual([]);
  });

  test("makes one without an end only where --days never says so", async () => {
    const data = await site();
    const made = await runJsonOrThrow([
      "admin",
      "token",
      "--name",
      "ops",
      "--days",
      "never",
      ...data,
    ]);
    expect(made).toMatchObject({ name: "ops", expires_at: null });
  });

  test.each(["0", "-1", "x", "10000", "1.5"])("refuses --days %s as misuse", async (days) => {
    const words = ["admin", "token", `--days=${days}`, "--data", join(tempFolder(), "data")];
    const { code, stderr } = await runBerth(words);
    expect(code).toBe(2);
    expect(stderr).toContain("--days must be a number of days, 1 to 9999, or never");
  });
});

describe("a name that is of the other kind", () => {
  test("is named as what it is, with the command that removes it", async () => {
    const data = await site();
    await runOrThrow(["admin", "token", "--name", "ops", ...data]);
    await runOrThrow(["admin", "user", "add", "ada", ...data], PASSWORD);
    const token = await runBerth(["admin", "user", "remove", "ops", ...data]);
    expect([token.code, token.stderr]).toEqual([
      1,
      "berth: error: ops is a token, not a user\nberth: hint: berth admin token revoke ops\n",
    ]);
    for (const words of [
      ["admin", "token", "revoke", "ada"],
      ["admin", "token", "--revoke", "ada"],
    ]) {
      const user = await runBerth([...words, ...data]);
      expect([user.code, user.stderr]).toEqual([
        1,
        "berth: error: ada is a user, not a token\nberth: hint: berth admin user remove ada\n",
      ]);
    }
    const nobody = await runBerth(["admin", "token", "revoke", "eve", ...data]);
    expect([nobody.code, nobody.stderr]).toEqual([1, expect.stringContaining("unknown_name")]);
  });

  test("a name of both kinds is removed as what the command says", async () => {
    const data = await site();
    await runOrThrow(["admin", "token", "--name", "ops", ...data]);
    await runOrThrow(["admin", "user", "add", "ops", "--role", "admin", ...data], PASSWORD);
    expect(await runOrThrow(["admin", "token", "revoke", "ops", ...data])).toBe(
      "token ops is revoked\n",
    );
    const { tokens, users } = await runJsonOrThrow<AccessReply>(["admin", "user", "list", ...data]);
    expect([tokens, users.map(({ name }) => name)]).toEqual([[], ["ops"]]);
  });
});

describe("doctor on tokens", () => {
  const NOW = "2026-11-16T00:00:00.000Z";
  const day = (days: number): string => new Date(Date.parse(NOW) + days * DAY).toISOString();
  const token = (name: string, made: number, ends: number | null) => ({
    name,
    created_at: day(made),
    expires_at: ends === null ? null : day(ends),
    is_expired: ends !== null && ends <= 0,
  });
  const said = (...tokens: ReturnType<typeof token>[]) =>
    checkTokens(tokens, NOW).map(({ level, finding, remedy }) => [level, finding, remedy]);

  test("a token of a year is told of from 30 days before its end on", () => {
    expect(said(token("ops", -335, 30))).toEqual([]);
    expect(said(token("ops", -336, 29))).toEqual([
      [
        "warning",
        "the token ops ends in 29 days",
        "berth admin token --name NEW creates a token to replace it",
      ],
    ]);
  });

  test("a token for a few days is not told of when it is made", () => {
    expect(said(token("brief", 0, 7))).toEqual([]);
    expect(said(token("brief", -6, 1))).toHaveLength(1);
    expect(said(token("always", -1_000, null))).toEqual([]);
  });

  test("a token that has ended is told of with the command that removes it", () => {
    expect(said(token("ops", -365, 0))).toEqual([
      ["note", "the token ops has expired", "berth admin token revoke ops"],
    ]);
  });

  test("of the service's own tokens only the newest matters, and the installer renews it", () => {
    expect(said(token("service", -350, 15))).toEqual([
      [
        "warning",
        "the token service ends in 15 days",
        "sudo berth service install writes a new one to /etc/berth/admin-token",
      ],
    ]);
    expect(said(token("service", -350, 15), token("service-2026-11-10", -6, 359))).toEqual([]);
    expect(said(token("service", -365, 0))[0]?.slice(0, 2)).toEqual([
      "warning",
      "the token service has expired",
    ]);
  });
});

describe("the installer's token", () => {
  const NOW = Date.parse("2026-11-16T00:00:00.000Z");
  const sha256 = createHash("sha256").update("berth_secret").digest("hex");
  const list = (endsAt: number | null, ended = false) => ({
    access: 1 as const,
    users: [],
    tokens: [
      { name: "service", sha256, madeAt: 0, endsAt, ...(ended && { ended: true as const }) },
    ],
  });

  test("is made where there is no credential, also when a file of an earlier one is left", () => {
    const nobody = { access: 1 as const, tokens: [], users: [] };
    expect(isTokenDue(nobody, null, NOW)).toBe(true);
    expect(isTokenDue(nobody, "berth_secret", NOW)).toBe(true);
  });

  test("is renewed when half a year or less is left, when it has ended, and when it never ends", () => {
    expect(isTokenDue(list(NOW + 183 * DAY), "berth_secret", NOW)).toBe(false);
    expect(isTokenDue(list(NOW + 182 * DAY), "berth_secret", NOW)).toBe(true);
    expect(isTokenDue(list(NOW - DAY), "berth_secret", NOW)).toBe(true);
    expect(isTokenDue(list(NOW + 300 * DAY, true), "berth_secret", NOW)).toBe(true);
    expect(isTokenDue(list(null), "berth_secret", NOW)).toBe(true);
  });

  test("is left alone where the operator has credentials of their own", () => {
    expect(isTokenDue(list(null), null, NOW)).toBe(false);
    expect(isTokenDue(list(null), "berth_another", NOW)).toBe(false);
  });
});
