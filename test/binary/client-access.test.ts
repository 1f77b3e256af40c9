import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import {
  basicAuthHeader,
  bearerHeader,
  RunningSite,
  PASSWORD,
  NETWORK_ADDRESS,
} from "../support/running-site.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const STATUS = "/api/admin/v1/status";
const REGISTER = "/api/v4/register";
const REMOTE_HOST = NETWORK_ADDRESS ?? "";

/** A site with a license of two slots. */
async function openLicensedSite(...flags: string[]): Promise<RunningSite> {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "cad", slots: 2 });
  return RunningSite.open(flags, folder);
}

const readStatusAndCode = async (response: Response) => [
  response.status,
  ((await response.json()) as { code?: string }).code,
];

describe.skipIf(NETWORK_ADDRESS === null)("network rules", () => {
  test("admit applications from --client-networks and administrators from --admin-networks", async () => {
    const site = await openLicensedSite(
      "--client-networks",
      "127.0.0.0/8",
      "--admin-networks",
      `${REMOTE_HOST}/32`,
    );
    const token = await site.createToken();
    expect(
      await readStatusAndCode(await site.post(REGISTER, { user: "ada" }, {}, REMOTE_HOST)),
    ).toEqual([403, "forbidden"]);
    expect((await site.post(REGISTER, { user: "ada" })).status).toBe(200);
    expect((await site.post(REGISTER, { user: "ada" }, {}, "127.0.0.2")).status).toBe(200);
    // Who may administer gets the page and the health check too.
    expect((await site.get("/api/v4/health", {}, REMOTE_HOST)).status).toBe(200);
    expect(
      await readStatusAndCode(await site.get(STATUS, bearerHeader(token), REMOTE_HOST)),
    ).toEqual([403, "tls_required"]);
    // A network that may administer may also log in.
    expect(await readStatusAndCode(await site.get("/auth", {}, REMOTE_HOST))).toEqual([
      403,
      "tls_required",
    ]);

    await site.restart(["--admin-networks", "127.0.0.0/8"]);
    expect((await site.post(REGISTER, { user: "ada" }, {}, REMOTE_HOST)).status).toBe(200);
    expect(
      await readStatusAndCode(await site.get(STATUS, bearerHeader(token), REMOTE_HOST)),
    ).toEqual([403, "forbidden"]);
    expect((await site.get(STATUS, bearerHeader(token))).status).toBe(200);
  });

  test("refuse admin calls of another machine while there is no credential", async () => {
    const site = await openLicensedSite();
    expect(await readStatusAndCode(await site.get(STATUS, {}, REMOTE_HOST))).toEqual([
      401,
      "unauthorized",
    ]);
  });
});

test("a local request with proxy headers has no admin access without a credential", async () => {
  const site = await openLicensedSite();
  const claims = { "x-forwarded-for": "127.0.0.1", forwarded: "for=127.0.0.1", via: "1.1 p" };
  const more = { "x-real-ip": "127.0.0.1", "x-forwarded-host": "localhost" };
  for (const [name, value] of Object.entries({ ...claims, ...more })) {
    const answer = await readStatusAndCode(await site.get(STATUS, { [name]: value }));
    expect([name, ...answer]).toEqual([name, 401, "unauthorized"]);
    expect((await site.post(REGISTER, { user: "ada" }, { [name]: value })).status).toBe(200);
  }
  const token = await site.createToken();
  const proxied = await site.get(STATUS, { ...bearerHeader(token), via: "1.1 p" });
  expect(await readStatusAndCode(proxied)).toEqual([403, "tls_required"]);
});

test("with --client-auth login, a user acts only for itself and an administrator for every user", async () => {
  const site = await openLicensedSite("--client-auth", "login");
  await site.runCommand(["admin", "user", "add", "ada"], PASSWORD);
  await site.runCommand(["admin", "user", "add", "root", "--role", "admin"], PASSWORD);
  const login = async (name: string): Promise<Record<string, string>> => {
    const response = await site.get("/auth", basicAuthHeader(name, PASSWORD));
    const { message, token } = (await response.json()) as { message: string; token: string };
    expect(message).toBe("Login successful");
    return bearerHeader(token);
  };
  const refused = await site.post(REGISTER, { user: "ada" });
  expect(refused.headers.get("www-authenticate")).toBe("Bearer");
  expect(await readStatusAndCode(refused)).toEqual([401, "unauthorized"]);
  const [ada, root] = [await login("ada"), await login("root")];
  expect(await (await site.post(REGISTER, {}, ada)).json()).toMatchObject({ user: "ada" });
  expect(await readStatusAndCode(await site.post(REGISTER, { user: "bob" }, ada))).toEqual([
    403,
    "forbidden",
  ]);
  expect((await site.post(REGISTER, { user: "bob" }, root)).status).toBe(200);
  const foreignRelease = await site.post("/api/v4/unregister", { user: "bob" }, ada);
  expect(await readStatusAndCode(foreignRelease)).toEqual([403, "forbidden"]);
  expect(await readStatusAndCode(await site.get(STATUS, ada))).toEqual([403, "forbidden"]);
  expect((await site.get(STATUS, root)).status).toBe(200);
  expect((await site.get("/api/v4/health")).status).toBe(200);

  // A new password ends the sessions of the old one, and so does a restart.
  await site.runCommand(["admin", "user", "add", "ada"], `${PASSWORD} 2`);
  expect(await readStatusAndCode(await site.post(REGISTER, {}, ada))).toEqual([
    401,
    "unauthorized",
  ]);
  await site.restart();
  expect(await readStatusAndCode(await site.get(STATUS, root))).toEqual([401, "unauthorized"]);
  expect((await site.get("/auth", basicAuthHeader("root", PASSWORD))).status).toBe(200);
});

test("password guesses beyond ten a minute get 429 with Retry-After", async () => {
  const site = await openLicensedSite();
  await site.runCommand(["admin", "user", "add", "ada"], PASSWORD);
  // Ten guesses are checked in each minute, and a new minute may begin during the test.
  const guess = () => site.get("/auth", basicAuthHeader("ada", "wrong password"));
  const guesses = await Promise.all(Array.from({ length: 30 }, guess));
  const limited = guesses.filter(({ status }) => status !== 401);
  expect(limited.length).toBeWithin(1, 21);
  for (const response of limited) {
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await readStatusAndCode(response)).toEqual([429, "too_many_requests"]);
  }
});

describe("berth status", () => {
  /** The exposures of the JSON, after checking that the plain text lists the same. */
  async function exposuresOf(site: RunningSite): Promise<string> {
    const { findings } = JSON.parse(
      (await site.runCommand(["status", "--json"])).stdout,
    ) as StatusReply;
    const { stdout } = await site.runCommand(["status"]);
    const unwrapped = stdout.replaceAll(/\s+/g, " ");
    const exposures = findings.filter(({ code }) =>
      /^(?:admin|clients|networks|plain|token)_/.test(code),
    );
    for (const { summary, remedy } of exposures) {
      expect(remedy).not.toBe("");
      expect(unwrapped).toContain(summary);
      expect(unwrapped).toContain(remedy);
    }
    return exposures.map(({ summary }) => summary).join("\n");
  }

  test("lists every exposure, and none after all are closed", async () => {
    const openNetworks = ["--client-networks", "0.0.0.0/0", "--admin-networks", "::/0,0.0.0.0/0"];
    const site = await RunningSite.open([...openNetworks, "--allow-plain-credentials"]);
    const open = await exposuresOf(site);
    for (const part of [
      "Administration is open",
      "call without a login",
      "Applications can connect from 0.0.0.0/0",
      "Administrators can connect from ::/0, 0.0.0.0/0",
      "Plain HTTP on 0.0.0.0:0",
      "Tokens and passwords from other machines",
    ]) {
      expect(open).toContain(part);
    }
    await site.createToken("--name", "ops", "--days", "never");
    expect(await exposuresOf(site)).toContain("The token ops never expires");
    expect(await exposuresOf(site)).not.toContain("Administration is open");
    await site.createToken("--name", "short", "--days", "90");
    await site.runCommand(["admin", "token", "--revoke", "ops"]);
    await site.restart(["--listen", "127.0.0.1:0", "--client-auth", "login"]);
    expect(await exposuresOf(site)).toBe("");
  });
});
