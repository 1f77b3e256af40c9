// Every route with every kind of credential. The routes come from the table, so none is missing.
import { describe, expect, test } from "bun:test";
import { routes } from "../../support/routes.ts";
import type { Gate } from "../../../src/http/access/gate.ts";
import {
  expectRefusal,
  openAppliance,
  type ApiResponse,
  type Appliance,
  type RequestHeaders,
} from "../../support/appliance.ts";
import { hoursLater } from "../../support/scenario.ts";

const PASSWORD = "correct horse battery";

/** An appliance with a valid token and an expired one. */
async function openSiteWithTokens(gate: Partial<Gate> = {}) {
  const site = await openAppliance({ gate });
  const { access } = site.services;
  const createToken = async (name: string, days: number | null): Promise<string> => {
    const created = await access.createToken(name, days, "test");
    if (!created.ok) throw new Error(created.fault.code);
    return created.value.token;
  };
  const expired = await createToken("expired", 1);
  const valid = await createToken("valid", null);
  site.clock.now = hoursLater(25);
  return { site, expired, valid };
}

/** The same with a logged-in user who is no administrator; separate since passwords are slow. */
async function openSiteWithUser(gate: Partial<Gate> = {}) {
  const appliance = await openSiteWithTokens(gate);
  const { access } = appliance.site.services;
  await access.setUser("ada", "user", PASSWORD, "test");
  const login = await access.login("ada", PASSWORD, "test");
  if (!login.ok) throw new Error(login.fault.code);
  return { ...appliance, user: login.value.token };
}

const bearer = (token: string): RequestHeaders => ({ authorization: `Bearer ${token}` });

const table = [...routes].flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, plane]) => ({ path, method, plane })),
);
const routesOn = (plane: string) => table.filter((route) => route.plane === plane);
const label = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`;

type SendRequest = (
  headers?: RequestHeaders,
  peer?: string | null,
) => Promise<ApiResponse<unknown>>;

const requestSender =
  (site: Appliance, { method, path }: { method: string; path: string }): SendRequest =>
  (headers = {}, peer = "127.0.0.1") => {
    site.peer = peer;
    return site.send(method, path, { headers });
  };

const GATE_STATUSES = [401, 403, 421];

describe("administration, once a credential exists, needs a valid one", () => {
  test.each(routesOn("admin").map((route) => [label(route), route] as const))(
    "on %s",
    async (_label, route) => {
      const { site, valid, expired, user } = await openSiteWithUser();
      const send = requestSender(site, route);
      const before = site.lastSeq();
      expectRefusal(await send(), 401, "unauthorized");
      expectRefusal(await send(bearer("berth_wrong")), 401, "unauthorized");
      expectRefusal(await send(bearer(expired)), 401, "unauthorized");
      expectRefusal(await send(bearer(`${valid}, Bearer ${valid}`)), 401, "unauthorized");
      expectRefusal(
        await send({ authorization: `Basic ${btoa(`ada:${PASSWORD}`)}` }),
        401,
        "unauthorized",
      );
      expectRefusal(await send(bearer(user)), 403, "forbidden");
      expectRefusal(await send({ "x-forwarded-for": "127.0.0.1" }), 401, "unauthorized");
      expectRefusal(await send({}, "10.1.2.3"), 401, "unauthorized");
      expectRefusal(await send({}, "203.0.113.9"), 403, "forbidden");
      expectRefusal(await send({}, null), 403, "forbidden");
      expectRefusal(await send(bearer(valid), "10.1.2.3"), 403, "tls_required");
      expectRefusal(await send({ ...bearer(valid), via: "1.1 proxy" }), 403, "tls_required");
      expectRefusal(
        await send({ ...bearer(valid), origin: "http://evil.example" }),
        403,
        "cross_site",
      );
      expectRefusal(await send({ host: "evil.example" }), 421, "wrong_host");
      expect(site.lastSeq()).toBe(before);
      expect(GATE_STATUSES).not.toContain((await send(bearer(valid)))[0].status);
      expect(GATE_STATUSES).not.toContain(
        (await send({ ...bearer(valid), host: "dns.alias" }))[0].status,
      );
    },
  );

  test.each(routesOn("admin").map((route) => [label(route), route] as const))(
    "on %s over TLS, from an admin network",
    async (_label, route) => {
      const gate = { isTls: true, isAdmin: (peer: string) => peer === "10.1.2.3" };
      const { site, valid } = await openSiteWithTokens(gate);
      const send = requestSender(site, route);
      expectRefusal(await send({}, "10.1.2.3"), 401, "unauthorized");
      expectRefusal(await send(bearer(valid), "10.1.2.4"), 403, "forbidden");
      expect(GATE_STATUSES).not.toContain((await send(bearer(valid), "10.1.2.3"))[0].status);
      expect(GATE_STATUSES).not.toContain((await send(bearer(valid), "127.0.0.1"))[0].status);
    },
  );
});

test("GET /api/admin/v1/access names the credential of the caller in signed_in_as", async () => {
  const signedInAs = async (site: Appliance, headers: RequestHeaders = {}): Promise<unknown> => {
    const [, reply] = await site.get<{ readonly signed_in_as: unknown }>(
      "/api/admin/v1/access",
      headers,
    );
    return reply.signed_in_as;
  };
  expect(await signedInAs(await openAppliance())).toBeNull();
  const { site, valid } = await openSiteWithTokens();
  // A user with the name of a token is a different credential.
  const { access } = site.services;
  await access.setUser("valid", "admin", PASSWORD, "test");
  const login = await access.login("valid", PASSWORD, "test");
  expect(await signedInAs(site, bearer(valid))).toMatchObject({
    name: "valid",
    credential: "token",
  });
  const session = login.ok ? login.value.token : "";
  expect(await signedInAs(site, bearer(session))).toMatchObject({
    name: "valid",
    credential: "user",
  });
});

describe("with clientAuth login an application needs a token", () => {
  test.each(routesOn("client").map((route) => [label(route), route] as const))(
    "on %s",
    async (_label, route) => {
      const { site, user, expired } = await openSiteWithUser({ clientAuth: "login", isTls: true });
      const send = requestSender(site, route);
      const message = expectRefusal(await send({}, "10.1.2.3"), 401, "unauthorized");
      expect(message).toContain("/auth");
      expectRefusal(await send(bearer("berth_wrong"), "10.1.2.3"), 401, "unauthorized");
      expectRefusal(await send(bearer(expired), "10.1.2.3"), 401, "unauthorized");
      expect(GATE_STATUSES).not.toContain((await send(bearer(user), "10.1.2.3"))[0].status);
    },
  );

  test("over TLS: tokens are refused on plain HTTP from other machines", async () => {
    const { site, user, valid } = await openSiteWithUser({ clientAuth: "login" });
    site.peer = "10.1.2.3";
    for (const token of [user, valid]) {
      expectRefusal(await site.get("/api/v4/license", bearer(token)), 403, "tls_required");
    }
    site.peer = "127.0.0.1";
    expect((await site.get("/api/v4/license", bearer(user)))[0].status).toBe(200);
  });

  test("and acts only for its own user, unless it is an administrator's", async () => {
    const { site, user, valid } = await openSiteWithUser({ clientAuth: "login" });
    const cad = { product: "cad" };
    const sameUser = await site.register({ ...cad, user: "ada" }, bearer(user));
    expect(sameUser[0].status).toBe(200);
    const withoutUser = await site.register(cad, bearer(user));
    expect(withoutUser[1]).toMatchObject({ user: "ada" });
    const before = site.lastSeq();
    const other = await site.register({ ...cad, user: "bob" }, bearer(user));
    expect(expectRefusal(other, 403, "forbidden")).toContain("only for itself");
    expect(site.lastSeq()).toBe(before);
    expect((await site.register({ ...cad, user: "bob" }, bearer(valid)))[0].status).toBe(200);
  });

  const openRoutes = routesOn("open").filter(({ path }) => !path.startsWith("/assets/"));

  test.each(openRoutes.map((route) => [label(route), route] as const))(
    "except on %s, which stays open",
    async (_label, route) => {
      const { site } = await openSiteWithTokens({ clientAuth: "login" });
      expect((await requestSender(site, route)({}, "10.1.2.3"))[0].status).toBe(200);
    },
  );
});

test.each(routesOn("client").map((route) => [label(route), route] as const))(
  "with clientAuth mtls, %s is refused over plain HTTP",
  async (_label, route) => {
    const { site } = await openSiteWithTokens({ clientAuth: "mtls" });
    expectRefusal(await requestSender(site, route)({}, "10.1.2.3"), 403, "tls_required");
  },
);

describe("/auth", () => {
  const basic = (name: string, password: string): RequestHeaders => ({
    authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
  });

  const NO_BASIC =
    "HTTP Basic credentials are missing or cannot be read: send the name and the password";

  test("returns a token for the right password, and the token works for an hour", async () => {
    const { site } = await openSiteWithUser();
    await site.services.access.setUser("root", "admin", PASSWORD, "test");
    const [response, body] = await site.get<{ message: string; token: string }>(
      "/auth",
      basic("root", PASSWORD),
    );
    expect(response.status).toBe(200);
    expect(body).toEqual({ message: "Login successful", token: expect.stringMatching(/^berth_/) });
    const status = () => site.get("/api/admin/v1/status", bearer(body.token));
    expect((await status())[0].status).toBe(200);
    site.clock.now = hoursLater(26);
    expectRefusal(await status(), 401, "unauthorized");
  });

  test("replies the same to an unknown name and to a wrong password", async () => {
    const { site } = await openSiteWithUser();
    const wrongPassword = await site.get("/auth", basic("ada", "wrong password"));
    const unknownName = await site.get("/auth", basic("nobody", PASSWORD));
    expect(expectRefusal(wrongPassword, 401, "unauthorized")).toBe(
      expectRefusal(unknownName, 401, "unauthorized"),
    );
    expect(wrongPassword[0].headers.get("www-authenticate")).toStartWith("Basic");
  });

  test.each(["", "Basic", "Basic !!!", "Basic Og==", `Basic ${"A".repeat(4_000)}`, "Bearer x"])(
    "refuses the Authorization header %j",
    async (authorization) => {
      const { site } = await openSiteWithUser();
      const [response, body] = await site.get("/auth", { authorization });
      expect(expectRefusal([response, body], 401, "unauthorized")).toBe(NO_BASIC);
      expect(response.headers.get("www-authenticate")).toStartWith("Basic");
    },
  );

  test("refuses a call without credentials and says that HTTP Basic credentials are missing", async () => {
    const { site } = await openSiteWithUser();
    expect(expectRefusal(await site.get("/auth"), 401, "unauthorized")).toBe(NO_BASIC);
  });

  test("refuses more guesses for one user after ten, and no other user's login", async () => {
    const { site } = await openSiteWithUser();
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expectRefusal(await site.get("/auth", basic("ada", `guess ${attempt}`)), 401, "unauthorized");
    }
    expectRefusal(await site.get("/auth", basic("ada", PASSWORD)), 429, "too_many_requests");
    await site.services.access.setUser("bob", "user", PASSWORD, "test");
    expect((await site.get("/auth", basic("bob", PASSWORD)))[0].status).toBe(200);
    site.clock.now = hoursLater(26);
    expect((await site.get("/auth", basic("ada", PASSWORD)))[0].status).toBe(200);
  });

  test("is refused over plain HTTP from other machines unless allowPlain is set", async () => {
    const tlsOnly = await openSiteWithUser();
    tlsOnly.site.peer = "10.1.2.3";
    const reply = await tlsOnly.site.get("/auth", basic("ada", PASSWORD));
    expectRefusal(reply, 403, "tls_required");
    const plainAllowed = await openSiteWithUser({ allowPlain: true });
    plainAllowed.site.peer = "10.1.2.3";
    expect((await plainAllowed.site.get("/auth", basic("ada", PASSWORD)))[0].status).toBe(200);
  });

  test("returns a token that stops working when its user is removed", async () => {
    const { site, user } = await openSiteWithUser({ clientAuth: "login" });
    expect((await site.get("/api/v4/license", bearer(user)))[0].status).toBe(200);
    await site.services.access.removeUser("ada", "test");
    expectRefusal(await site.get("/api/v4/license", bearer(user)), 401, "unauthorized");
  });
});
