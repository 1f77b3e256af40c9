import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { basic, bearer, GuardedSite, PASSWORD, REMOTE } from "../support/guarded-site.ts";
import { makeSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const STATUS = "/api/admin/v1/status";
const REGISTER = "/api/v4/register";
const FAR = REMOTE ?? "";

/** A site with a license of two slots. */
async function licensed(...words: string[]): Promise<GuardedSite> {
  const folder = join(tempFolder(), "data");
  await makeSite(folder, { product: "cad", slots: 2 });
  return GuardedSite.open(words, folder);
}

const codeOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { code?: string }).code,
];

describe.skipIf(REMOTE === null)("networks", () => {
  test("applications come from those that were named, administrators from theirs", async () => {
    const site = await licensed(
      "--client-networks",
      "127.0.0.0/8",
      "--admin-networks",
      `${FAR}/32`,
    );
    const token = await site.token();
    expect(await codeOf(await site.post(REGISTER, { user: "ada" }, {}, FAR))).toEqual([
      403,
      "forbidden",
    ]);
    expect((await site.post(REGISTER, { user: "ada" })).status).toBe(200);
    expect((await site.post(REGISTER, { user: "ada" }, {}, "127.0.0.2")).status).toBe(200);
    expect(await codeOf(await site.get("/api/v4/health", {}, FAR))).toEqual([403, "forbidden"]);
    expect(await codeOf(await site.get(STATUS, bearer(token), FAR))).toEqual([403, "tls_required"]);
    // Whoever may try to administer may also log in for it.
    expect(await codeOf(await site.get("/auth", {}, FAR))).toEqual([403, "tls_required"]);

    await site.restart(["--admin-networks", "127.0.0.0/8"]);
    expect((await site.post(REGISTER, { user: "ada" }, {}, FAR)).status).toBe(200);
    expect(await codeOf(await site.get(STATUS, bearer(token), FAR))).toEqual([403, "forbidden"]);
    expect((await site.get(STATUS, bearer(token))).status).toBe(200);
  });

  test("before there is a credential, another machine has no way in", async () => {
    const site = await licensed();
    expect(await codeOf(await site.get(STATUS, {}, FAR))).toEqual([401, "unauthorized"]);
  });
});

test("a proxy on the machine is not the machine", async () => {
  const site = await licensed();
  const claims = { "x-forwarded-for": "127.0.0.1", forwarded: "for=127.0.0.1", via: "1.1 p" };
  const more = { "x-real-ip": "127.0.0.1", "x-forwarded-host": "localhost" };
  for (const [name, value] of Object.entries({ ...claims, ...more })) {
    const answer = await codeOf(await site.get(STATUS, { [name]: value }));
    expect([name, ...answer]).toEqual([name, 401, "unauthorized"]);
    expect((await site.post(REGISTER, { user: "ada" }, { [name]: value })).status).toBe(200);
  }
  const token = await site.token();
  const shown = await site.get(STATUS, { ...bearer(token), via: "1.1 p" });
  expect(await codeOf(shown)).toEqual([403, "tls_required"]);
});

test("where people log in, each acts for itself and an administrator for anyone", async () => {
  const site = await licensed("--client-auth", "login");
  await site.tell(["admin", "user", "add", "ada"], PASSWORD);
  await site.tell(["admin", "user", "add", "root", "--role", "admin"], PASSWORD);
  const login = async (name: string): Promise<Record<string, string>> => {
    const response = await site.get("/auth", basic(name, PASSWORD));
    const { message, token } = (await response.json()) as { message: string; token: string };
    expect(message).toBe("Login successful");
    return bearer(token);
  };
  const refused = await site.post(REGISTER, { user: "ada" });
  expect(refused.headers.get("www-authenticate")).toBe("Bearer");
  expect(await codeOf(refused)).toEqual([401, "unauthorized"]);
  const [ada, root] = [await login("ada"), await login("root")];
  expect(await (await site.post(REGISTER, {}, ada)).json()).toMatchObject({ user: "ada" });
  expect(await codeOf(await site.post(REGISTER, { user: "bob" }, ada))).toEqual([403, "forbidden"]);
  expect((await site.post(REGISTER, { user: "bob" }, root)).status).toBe(200);
  const given = await site.post("/api/v4/unregister", { user: "bob" }, ada);
  expect(await codeOf(given)).toEqual([403, "forbidden"]);
  expect(await codeOf(await site.get(STATUS, ada))).toEqual([403, "forbidden"]);
  expect((await site.get(STATUS, root)).status).toBe(200);
  expect((await site.get("/api/v4/health")).status).toBe(200);

  // A new password ends what the old one opened, and so does a restart.
  await site.tell(["admin", "user", "add", "ada"], `${PASSWORD} 2`);
  expect(await codeOf(await site.post(REGISTER, {}, ada))).toEqual([401, "unauthorized"]);
  await site.restart();
  expect(await codeOf(await site.get(STATUS, root))).toEqual([401, "unauthorized"]);
  expect((await site.get("/auth", basic("root", PASSWORD))).status).toBe(200);
});

test("whoever guesses is slowed down", async () => {
  const site = await licensed();
  await site.tell(["admin", "user", "add", "ada"], PASSWORD);
  // Ten are looked at in a minute, which may turn meanwhile.
  const guess = () => site.get("/auth", basic("ada", "wrong password"));
  const guesses = await Promise.all(Array.from({ length: 30 }, guess));
  const slowed = guesses.filter(({ status }) => status !== 401);
  expect(slowed.length).toBeWithin(1, 21);
  for (const one of slowed) {
    expect(Number(one.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await codeOf(one)).toEqual([429, "too_many_requests"]);
  }
});

describe("berth status", () => {
  interface Status {
    readonly exposures: { readonly finding: string; readonly remedy: string }[];
  }

  /** The exposures of the JSON, after checking that the plain text lists the same. */
  async function exposuresOf(site: GuardedSite): Promise<string> {
    const { exposures } = JSON.parse((await site.tell(["status", "--json"])).stdout) as Status;
    const { stdout } = await site.tell(["status"]);
    for (const { finding, remedy } of exposures) {
      expect(remedy).not.toBe("");
      expect(stdout).toContain(finding);
      expect(stdout).toContain(remedy);
    }
    return exposures.map(({ finding }) => finding).join("\n");
  }

  test("lists every exposure, and none after it is closed", async () => {
    const wide = ["--client-networks", "0.0.0.0/0", "--admin-networks", "::/0,0.0.0.0/0"];
    const site = await GuardedSite.open([...wide, "--allow-plain-credentials"]);
    const open = await exposuresOf(site);
    for (const part of [
      "administration is open",
      "call without a login",
      "applications may connect from 0.0.0.0/0",
      "administrators may connect from ::/0, 0.0.0.0/0",
      "plain HTTP on 0.0.0.0:0",
      "tokens and passwords from other machines",
    ]) {
      expect(open).toContain(part);
    }
    await site.token("--name", "ops", "--days", "never");
    expect(await exposuresOf(site)).toContain("the token ops never expires");
    expect(await exposuresOf(site)).not.toContain("administration is open");
    await site.token("--name", "short", "--days", "90");
    await site.tell(["admin", "token", "--revoke", "ops"]);
    await site.restart(["--listen", "127.0.0.1:0", "--client-auth", "login"]);
    expect(await exposuresOf(site)).toBe("");
  });
});
