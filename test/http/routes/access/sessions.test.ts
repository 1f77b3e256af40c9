// Sessions of the operator's page, and what a viewer may do.
import { beforeAll, describe, expect, test } from "bun:test";
import type { AccessReply } from "../../../../src/http/routes/access/access.ts";
import type { StartedSessionReply } from "../../../../src/http/routes/access/sessions.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  openSharedAppliance,
  type ApiResponse,
  type Appliance,
  type RequestHeaders,
} from "../../../support/appliance.ts";
import { CHANGES_BY_GET, CHANGES_NOTHING_BY_POST, routes } from "../../../support/routes.ts";
import { hoursLater } from "../../../support/scenario.ts";
import { unwrap } from "../../../support/licensed-store.ts";

const SESSIONS = "/api/admin/v1/sessions";
const ACCESS = "/api/admin/v1/access";
const STATUS = "/api/admin/v1/status";
const PASSWORD = "correct horse battery";

const bearer = (token: string): RequestHeaders => ({ authorization: `Bearer ${token}` });

async function openSite(gate: Parameters<typeof openAppliance>[0] = {}) {
  const site = await openAppliance(gate);
  const { access } = site.services;
  const admin = unwrap(await access.createToken("ops", null, "test")).token;
  const viewer = unwrap(await access.createToken("eyes", null, "test", "viewer")).token;
  return { site, access, admin, viewer };
}

async function signIn(site: Appliance, token: string): Promise<StartedSessionReply> {
  const [response, body] = await site.post<{ session: StartedSessionReply }>(
    SESSIONS,
    {},
    bearer(token),
  );
  expect(response.status).toBe(200);
  return body.session;
}

const statusWith = async (site: Appliance, token: string): Promise<number> =>
  (await site.get(STATUS, bearer(token)))[0].status;

describe("POST /api/admin/v1/sessions", () => {
  test("starts a session that is used like the token, and GET access lists it", async () => {
    const { site, admin } = await openSite();
    const session = await signIn(site, admin);
    expect(session).toMatchObject({ name: "ops", role: "admin" });
    expect(session.token).not.toBe(admin);
    expect(await statusWith(site, session.token)).toBe(200);
    site.peer = "127.0.0.2";
    const [, access] = await site.get<AccessReply>(ACCESS, bearer(session.token));
    expect(access.signed_in_as).toEqual({
      name: "ops",
      credential: "token",
      role: "admin",
      session_id: session.id,
    });
    expect(access.sessions).toEqual([
      {
        id: session.id,
        name: "ops",
        credential: "token",
        role: "admin",
        created_at: "2026-03-02T09:00:00.000Z",
        last_used_at: "2026-03-02T09:00:00.000Z",
        expires_at: "2026-03-02T21:00:00.000Z",
        address: "127.0.0.2",
        is_current: true,
      },
    ]);
    const [, byToken] = await site.get<AccessReply>(ACCESS, bearer(admin));
    expect(byToken.sessions).toMatchObject([{ is_current: false }]);
    expect(byToken.tokens).toMatchObject([
      { name: "ops", role: "admin", last_used_from: "127.0.0.2" },
      { name: "eyes", role: "viewer", last_used_at: null, last_used_from: null },
    ]);
  });

  test("starts none where administration is open without a credential", async () => {
    const site = await openAppliance();
    expect((await site.post(SESSIONS, {}))[1]).toEqual({ session: null });
    expect((await site.get<AccessReply>(ACCESS))[1].sessions).toEqual([]);
  });

  test("refuses a session: a stolen one cannot be prolonged", async () => {
    const { site, admin } = await openSite();
    const { token } = await signIn(site, admin);
    const message = expectRefusal(await site.post(SESSIONS, {}, bearer(token)), 403, "forbidden");
    expect(message).toContain("a session cannot start another one");
    expect((await site.get<AccessReply>(ACCESS, bearer(admin)))[1].sessions).toHaveLength(1);
  });

  test("refuses the login of a user who may not administer", async () => {
    const { site, access } = await openSite();
    unwrap(await access.setUser("ada", "user", PASSWORD, "test"));
    const { token } = unwrap(await access.login("ada", PASSWORD, "test"));
    expectRefusal(await site.post(SESSIONS, {}, bearer(token)), 403, "forbidden");
    expect(access.list().sessions).toEqual([]);
  });

  test("needs TLS from another machine, and so does the session", async () => {
    const { site, admin } = await openSite();
    const { token } = await signIn(site, admin);
    site.peer = "10.1.2.3";
    expectRefusal(await site.post(SESSIONS, {}, bearer(admin)), 403, "tls_required");
    expectRefusal(await site.get(STATUS, bearer(token)), 403, "tls_required");
  });

  test("starts a session that ends after 12 hours", async () => {
    const { site, admin } = await openSite();
    const { token } = await signIn(site, admin);
    site.clock.now = hoursLater(11);
    expect(await statusWith(site, token)).toBe(200);
    site.clock.now = hoursLater(12);
    expectRefusal(await site.get(STATUS, bearer(token)), 401, "unauthorized");
    expect(await statusWith(site, admin)).toBe(200);
  });
});

describe("POST /api/admin/v1/sessions/revoke", () => {
  test("with the own id signs out, and the session is refused from then on", async () => {
    const { site, admin } = await openSite();
    const [own, other] = [await signIn(site, admin), await signIn(site, admin)];
    const [response, body] = await site.post(
      `${SESSIONS}/revoke`,
      { id: own.id },
      bearer(own.token),
    );
    expect([response.status, body]).toEqual([200, { id: own.id }]);
    expectRefusal(await site.get(STATUS, bearer(own.token)), 401, "unauthorized");
    expectRefusal(
      await site.post(`${SESSIONS}/revoke`, { id: own.id }, bearer(own.token)),
      401,
      "unauthorized",
    );
    expect(await statusWith(site, other.token)).toBe(200);
  });

  test("by an administrator ends the session of another, with an entry in the audit log", async () => {
    const { site, admin, viewer } = await openSite();
    const session = await signIn(site, viewer);
    await site.post(`${SESSIONS}/revoke`, { id: session.id }, bearer(admin));
    expectRefusal(await site.get(STATUS, bearer(session.token)), 401, "unauthorized");
    const [, { events }] = await site.get<{ events: { summary: string; peer: string }[] }>(
      "/api/admin/v1/audit?limit=1",
      bearer(admin),
    );
    expect(events).toMatchObject([{ summary: "session of eyes revoked", peer: "ops@127.0.0.1" }]);
  });

  test("refuses a missing and an unknown id, and names the field", async () => {
    const { site, admin } = await openSite();
    const send = (fields: object) =>
      site.post<{ field?: string }>(`${SESSIONS}/revoke`, { ...fields }, bearer(admin));
    const missing = await send({});
    expectRefusal(missing, 400, "missing_parameters");
    const unknown = await send({ id: "0".repeat(32) });
    expectRefusal(unknown, 400, "unknown_session");
    expect([missing[1].field, unknown[1].field]).toEqual(["id", "id"]);
  });

  test("lets a viewer end only its own session", async () => {
    const { site, admin, viewer } = await openSite();
    const [own, other] = [await signIn(site, viewer), await signIn(site, admin)];
    const revoke = (id: string) => site.post(`${SESSIONS}/revoke`, { id }, bearer(own.token));
    expectRefusal(await revoke(other.id), 403, "forbidden");
    expectRefusal(await revoke("0".repeat(32)), 403, "forbidden");
    expect(await statusWith(site, other.token)).toBe(200);
    expect((await revoke(own.id))[0].status).toBe(200);
  });
});

const adminRoutes = [...routes].flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, plane]) =>
    plane === "admin" ? [`${method} ${path}`] : [],
  ),
);
const OWN_SESSIONS = new Set([`POST ${SESSIONS}`, `POST ${SESSIONS}/revoke`]);
const changingRoutes = new Set(
  adminRoutes.filter(
    (route) =>
      (!route.startsWith("GET ") || CHANGES_BY_GET.includes(route)) &&
      !CHANGES_NOTHING_BY_POST.includes(route) &&
      !OWN_SESSIONS.has(route),
  ),
);
const readingRoutes = adminRoutes.filter(
  (route) => !changingRoutes.has(route) && !OWN_SESSIONS.has(route),
);

const sendAs = (site: Appliance, route: string, token: string): Promise<ApiResponse<unknown>> => {
  const [method = "", path = ""] = route.split(" ");
  return site.send(method, path, { headers: bearer(token) });
};

describe("a viewer", () => {
  const sharedSite = openSharedAppliance();
  let viewerToken = "";
  let sessionToken = "";
  beforeAll(async () => {
    const { access } = sharedSite().services;
    viewerToken = unwrap(await access.createToken("eyes", null, "test", "viewer")).token;
    sessionToken = (await signIn(sharedSite(), viewerToken)).token;
  });

  test.each([...changingRoutes])("is refused on %s, by token and by session", async (route) => {
    const site = sharedSite();
    const before = site.lastSeq();
    for (const token of [viewerToken, sessionToken]) {
      const message = expectRefusal(await sendAs(site, route, token), 403, "forbidden");
      expect(message).toContain("role viewer");
    }
    expect(site.lastSeq()).toBe(before);
  });

  test.each(readingRoutes)("is admitted on %s", async (route) => {
    const [{ status }] = await sendAs(sharedSite(), route, viewerToken);
    expect([401, 403, 421]).not.toContain(status);
  });

  test("cannot download the backup, which contains the appliance's key", () => {
    const downloads = ["backup", "backups/download", "support-bundle"];
    for (const name of downloads) expect(changingRoutes).toContain(`POST /api/admin/v1/${name}`);
  });

  test("alone leaves administration open on the machine, but is still refused itself", async () => {
    const site = await openAppliance();
    const { access } = site.services;
    const { token } = unwrap(await access.createToken("eyes", null, "test", "viewer"));
    expect((await site.get(STATUS))[0].status).toBe(200);
    expect(await statusWith(site, token)).toBe(200);
    expectRefusal(
      await site.post(`${ACCESS}/tokens`, { name: "more" }, bearer(token)),
      403,
      "forbidden",
    );
  });

  test("who is a user may use applications in the own name, but a viewer's token may not", async () => {
    const { site, access, viewer } = await openSite({ gate: { clientAuth: "login" } });
    unwrap(await access.setUser("ada", "viewer", PASSWORD, "test"));
    const { token } = unwrap(await access.login("ada", PASSWORD, "test"));
    const own = await site.register({ product: "cad" }, bearer(token));
    expect(own[1]).toMatchObject({ user: "ada" });
    const other = { product: "cad", user: "bob" };
    expectRefusal(await site.register(other, bearer(token)), 403, "forbidden");
    expectRefusal(await site.register({ product: "cad" }, bearer(viewer)), 403, "forbidden");
    expect((await site.get("/api/v4/license", bearer(viewer)))[0].status).toBe(200);
  });
});

describe("POST /api/admin/v1/access/tokens", () => {
  const create = async (fields: object): Promise<ApiResponse<Record<string, unknown>>> =>
    (await openAppliance()).post(`${ACCESS}/tokens`, { name: "ops", role: "admin", ...fields });

  test.each([
    [{}, "2027-03-02T09:00:00.000Z"],
    [{ days: "" }, "2027-03-02T09:00:00.000Z"],
    [{ days: 30 }, "2026-04-01T09:00:00.000Z"],
    [{ days: "0" }, null],
    [{ days: 0 }, null],
  ])("with %j creates a token that expires at %s", async (fields, end) => {
    expect((await create(fields))[1]).toMatchObject({ role: "admin", expires_at: end });
  });

  test.each(["00", "-1", "10000", "1.5", "never"])("refuses the days %j", async (days) => {
    const refused = await create({ days });
    expectRefusal(refused, 400, "invalid_parameter");
    expect(refused[1]["field"]).toBe("days");
  });

  test.each([undefined, null, ""])("refuses the role %p: it has no default", async (role) => {
    expectRefusal(await create({ role }), 400, "missing_parameters");
  });

  test("refuses the role user, which is for people who log in", async () => {
    const refused = await create({ role: "user" });
    expect(expectRefusal(refused, 400, "invalid_parameter")).toBe(
      "role must be admin, viewer or metrics",
    );
  });
});

describe("POST /api/admin/v1/access/users", () => {
  const post = (site: Appliance, name: string) =>
    site.post(`${ACCESS}/users`, { name, password: PASSWORD });

  test.each(["zoë", "CORP\\ada", "ada@plant.example", "Ada M. Lovelace"])(
    "accepts the name %s",
    async (name) => {
      expectOk(await post(await openAppliance(), name));
    },
  );

  const site = openSharedAppliance();
  test.each([
    "<img src=x>",
    "__proto__",
    "ada#ws-17",
    "ada:x",
    "-ada",
    " ada",
    "ada ",
    "a  b",
    "a'b",
    "a/b",
  ])("refuses the name %j", async (name) => {
    expectRefusal(await post(site(), name), 400, "invalid_parameter");
  });
});

test("POST /api/admin/v1/access/users accepts the role viewer and refuses an unknown one", async () => {
  const { site, admin } = await openSite();
  const send = (role: string) =>
    site.post(`${ACCESS}/users`, { name: "ada", role, password: PASSWORD }, bearer(admin));
  expect(expectRefusal(await send("root"), 400, "invalid_parameter")).toBe(
    "role must be admin, viewer or user",
  );
  expect((await send("viewer"))[0].status).toBe(200);
  const [, { users }] = await site.get<AccessReply>(ACCESS, bearer(admin));
  expect(users).toMatchObject([{ name: "ada", role: "viewer" }]);
});

test("POST /api/admin/v1/access/users names every missing field in one refusal", async () => {
  const site = await openAppliance();
  const message = expectRefusal(
    await site.post("/api/admin/v1/access/users", { role: "admin" }),
    400,
    "missing_parameters",
  );
  expect(message).toBe("name and password must be given");
});
