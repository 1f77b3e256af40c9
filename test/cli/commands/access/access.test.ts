import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { isTokenDue } from "../../../../src/cli/service/admin-token.ts";
import { DAY } from "../../../../src/domain/time.ts";
import type { AccessReply } from "../../../../src/http/routes/access/access.ts";
import type { StatusReply } from "../../../../src/http/routes/health/status-schema.ts";
import type { DoctorReply } from "../../../../src/http/running-server.ts";
import { runBerth, runOrThrow, runJsonOrThrow, startServer } from "../../../support/run-berth.ts";
import { makeLicensedSite } from "../../../support/site-folder.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

async function makeSite(): Promise<readonly ["--data", string]> {
  const data = join(tempFolder(), "data");
  await makeLicensedSite(data, { product: "cad" });
  return ["--data", data];
}

const PASSWORD = { stdin: "correct horse battery\n" };

describe("berth admin token", () => {
  test("creates a token that expires after a year and causes no finding about tokens", async () => {
    const data = await makeSite();
    expect(await runOrThrow(["admin", "token", "--name", "ops", ...data])).toMatch(
      /^token ops, role admin, until /,
    );
    const { tokens } = await runJsonOrThrow<AccessReply>(["admin", "user", "list", ...data]);
    const [{ created_at, expires_at } = { created_at: "", expires_at: "" }] = tokens;
    expect(Date.parse(expires_at ?? "") - Date.parse(created_at)).toBe(365 * DAY);
    await startServer(["serve", ...data]);
    const doctor = JSON.parse(
      (await runBerth(["doctor", "--json", ...data])).stdout,
    ) as DoctorReply;
    const status = await runJsonOrThrow<StatusReply>(["status", ...data]);
    for (const { findings } of [doctor, status])
      expect(findings.filter(({ code }) => code.startsWith("token_"))).toEqual([]);
  });

  test.each(["never", "0"])("creates a token that never expires with --days %s", async (days) => {
    const data = await makeSite();
    const words = ["admin", "token", "--name", "ops", "--days", days, ...data];
    expect(await runJsonOrThrow(words)).toMatchObject({ name: "ops", expires_at: null });
  });

  test("creates a viewer's token with --role viewer, which is listed as such", async () => {
    const data = await makeSite();
    const words = ["admin", "token", "--name", "eyes", "--role", "viewer", ...data];
    expect(await runOrThrow(words)).toMatch(/^token eyes, role viewer, until /);
    expect(await runOrThrow(["admin", "user", "list", ...data])).toMatch(
      /token +eyes +viewer +\S+ +\S+ +not used/,
    );
  });

  test("refuses an unknown --role with exit code 2", async () => {
    const words = ["admin", "token", "--role", "root", "--data", join(tempFolder(), "data")];
    const { code, stderr } = await runBerth(words);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("--role must be one of admin, viewer"),
    ]);
  });

  test.each(["00", "-1", "x", "10000", "1.5"])(
    "refuses --days %s with exit code 2",
    async (days) => {
      const words = ["admin", "token", `--days=${days}`, "--data", join(tempFolder(), "data")];
      const { code, stderr } = await runBerth(words);
      expect(code).toBe(2);
      expect(stderr).toContain("--days must be a number of days, 1 to 9999, or 0 or never");
    },
  );
});

describe("removing a user or a token", () => {
  test("names the command for the other kind when the name is of that kind", async () => {
    const data = await makeSite();
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
    const unknown = await runBerth(["admin", "token", "revoke", "eve", ...data]);
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("unknown_name")]);
  });

  test("removes only the token when a user has the same name", async () => {
    const data = await makeSite();
    await runOrThrow(["admin", "token", "--name", "ops", ...data]);
    await runOrThrow(["admin", "user", "add", "ops", "--role", "admin", ...data], PASSWORD);
    expect(await runOrThrow(["admin", "token", "revoke", "ops", ...data])).toBe(
      "token ops is revoked\n",
    );
    const { tokens, users } = await runJsonOrThrow<AccessReply>(["admin", "user", "list", ...data]);
    expect([tokens, users.map(({ name }) => name)]).toEqual([[], ["ops"]]);
  });
});

describe("isTokenDue", () => {
  const NOW = Date.parse("2026-11-16T00:00:00.000Z");
  const sha256 = createHash("sha256").update("berth_secret").digest("hex");
  const accessWith = (endsAt: number | null, isEnded = false) => ({
    access: 2 as const,
    sessions: [],
    users: [],
    tokens: [
      { name: "service", sha256, madeAt: 0, endsAt, ...(isEnded && { ended: true as const }) },
    ],
  });

  test("is true without any credential, even when the file of an earlier token is left", () => {
    const noAccess = { access: 2 as const, tokens: [], users: [], sessions: [] };
    expect(isTokenDue(noAccess, null, NOW)).toBe(true);
    expect(isTokenDue(noAccess, "berth_secret", NOW)).toBe(true);
  });

  test("is true with 182 days left but not with 183, and for an expired or unlimited token", () => {
    expect(isTokenDue(accessWith(NOW + 183 * DAY), "berth_secret", NOW)).toBe(false);
    expect(isTokenDue(accessWith(NOW + 182 * DAY), "berth_secret", NOW)).toBe(true);
    expect(isTokenDue(accessWith(NOW - DAY), "berth_secret", NOW)).toBe(true);
    expect(isTokenDue(accessWith(NOW + 300 * DAY, true), "berth_secret", NOW)).toBe(true);
    expect(isTokenDue(accessWith(null), "berth_secret", NOW)).toBe(true);
  });

  test("is false when the operator has created other credentials", () => {
    expect(isTokenDue(accessWith(null), null, NOW)).toBe(false);
    expect(isTokenDue(accessWith(null), "berth_another", NOW)).toBe(false);
  });
});
