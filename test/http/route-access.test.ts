// Every route, with every way to knock: made from the route table, so that none can be forgotten.
import { describe, expect, test } from "bun:test";
import { routes } from "../../src/http/planes.ts";
import type { Gate } from "../../src/http/gate.ts";
import {
  expectRefusal,
  openAppliance,
  type ApiResponse,
  type Appliance,
  type RequestHeaders,
} from "../support/appliance.ts";
import { hoursLater } from "../support/scenario.ts";

const PASSWORD = "correct horse battery";

/** An appliance that has a token, and one that ended. */
async function claimed(gate: Partial<Gate> = {}) {
  const site = await openAppliance({ gate });
  const { access } = site.services;
  const token = async (name: string, days: number | null): Promise<string> => {
    const made = await access.createToken(name, days, "test");
    if (!made.ok) throw new Error(made.fault.code);
    return made.value.token;
  };
  const ended = await token("ended", 1);
  const valid = await token("valid", null);
  site.clock.now = hoursLater(25);
  return { site, ended, valid };
}

/** The same, with a user who is no administrator and has logged in: passwords take their time. */
async function withUser(gate: Partial<Gate> = {}) {
  const appliance = await claimed(gate);
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
const on = (plane: string) => table.filter((route) => route.plane === plane);
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

const STOPPED = [401, 403, 421];

describe("administration with a credential in force", () => {
  test.each(on("admin").map((route) => [label(route), route] as const))(
    "%s",
    async (_at, route) => {
      const { site, valid, ended, user } = await withUser();
      const knock = requestSender(site, route);
      const before = site.lastSeq();
      expectRefusal(await knock(), 401, "unauthorized");
      expectRefusal(await knock(bearer("berth_wrong")), 401, "unauthorized");
      expectRefusal(await knock(bearer(ended)), 401, "unauthorized");
      expectRefusal(await knock(bearer(`${valid}, Bearer ${valid}`)), 401, "unauthorized");
      expectRefusal(
        await knock({ authorization: `Basic ${btoa(`ada:${PASSWORD}`)}` }),
        401,
        "unauthorized",
      );
      expectRefusal(await knock(bearer(user)), 403, "forbidden");
      expectRefusal(await knock({ "x-forwarded-for": "127.0.0.1" }), 401, "unauthorized");
      expectRefusal(await knock({}, "10.1.2.3"), 401, "unauthorized");
      expectRefusal(await knock({}, "203.0.113.9"), 403, "forbidden");
      expectRefusal(await knock({}, null), 403, "forbidden");
      expectRefusal(await knock(bearer(valid), "10.1.2.3"), 403, "tls_required");
      expectRefusal(await knock({ ...bearer(valid), via: "1.1 proxy" }), 403, "tls_required");
      expectRefusal(
        await knock({ ...bearer(valid), origin: "http://evil.example" }),
        403,
        "cross_site",
      );
      expectRefusal(await knock({ host: "evil.example" }), 421, "wrong_host");
      expect(site.lastSeq()).toBe(before);
      expect(STOPPED).not.toContain((await knock(bearer(valid)))[0].status);
      expect(STOPPED).not.toContain(
        (await knock({ ...bearer(valid), host: "dns.alias" }))[0].status,
      );
    },
  );

  test.each(on("admin").map((route) => [label(route), route] as const))(
    "%s over TLS, from a network that may try",
    async (_at, route) => {
      const gate = { isTls: true, isAdmin: (peer: string) => peer === "10.1.2.3" };
      const { site, valid } = await claimed(gate);
      const knock = requestSender(site, route);
      expectRefusal(await knock({}, "10.1.2.3"), 401, "unauthorized");
      expectRefusal(await knock(bearer(valid), "10.1.2.4"), 403, "forbidden");
      expect(STOPPED).not.toContain((await knock(bearer(valid), "10.1.2.3"))[0].status);
      expect(STOPPED).not.toContain((await knock(bearer(valid), "127.0.0.1"))[0].status);
    },
  );
});

test("whoever asks who may get in is told whose credential they showed", async () => {
  const signedInAs = async (site: Appliance, headers: RequestHeaders = {}): Promise<unknown> => {
    const [, reply] = await site.get<{ readonly signed_in_as: unknown }>(
      "/api/admin/v1/access",
      headers,
    );
    return reply.signed_in_as;
  };
  expect(await signedInAs(await openAppliance())).toBeNull();
  const { site, valid } = await claimed();
  // A user of the same name as a token is somebody else.
  const { access } = site.services;
  await access.setUser("valid", "admin", PASSWORD, "test");
  const login = await access.login("valid", PASSWORD, "test");
  expect(await signedInAs(site, bearer(valid))).toEqual({ name: "valid", credential: "token" });
  const session = login.ok ? login.value.token : "";
  expect(await signedInAs(site, bearer(session))).toEqual({ name: "valid", credential: "user" });
});

describe("applications, where people log in", () => {
  test.each(on("client").map((route) => [label(route), route] as const))(
    "%s",
    async (_at, route) => {
      const { site, user, ended } = await withUser({ clientAuth: "login", isTls: true });
      const knock = requestSender(site, route);
      const message = expectRefusal(await knock({}, "10.1.2.3"), 401, "unauthorized");
      expect(message).toContain("/auth");
      expectRefusal(await knock(bearer("berth_wrong"), "10.1.2.3"), 401, "unauthorized");
      expectRefusal(await knock(bearer(ended), "10.1.2.3"), 401, "unauthorized");
      expect(STOPPED).not.toContain((await knock(bearer(user), "10.1.2.3"))[0].status);
    },
  );

  test("their tokens do not travel in plain HTTP either, an administrator's least of all", async () => {
    const { site, user, valid } = await withUser({ clientAuth: "login" });
    site.peer = "10.1.2.3";
    for (const token of [user, valid]) {
      expectRefusal(await site.get("/api/v4/license", bearer(token)), 403, "tls_required");
    }
    site.peer = "127.0.0.1";
    expect((await site.get("/api/v4/license", bearer(user)))[0].status).toBe(200);
  });

  test("a user acts only for itself, an administrator for anyone", async () => {
    const { site, user, valid } = await withUser({ clientAuth: "login" });
    const cad = { product: "cad" };
    const own = await site.register({ ...cad, user: "ada" }, bearer(user));
    expect(own[0].status).toBe(200);
    const unnamed = await site.register(cad, bearer(user));
    expect(unnamed[1]).toMatchObject({ user: "ada" });
    const before = site.lastSeq();
    const other = await site.register({ ...cad, user: "bob" }, bearer(user));
    expect(expectRefusal(other, 403, "forbidden")).toContain("only for itself");
    expect(site.lastSeq()).toBe(before);
    expect((await site.register({ ...cad, user: "bob" }, bearer(valid)))[0].status).toBe(200);
  });

  test.each(on("open").map((route) => [label(route), route] as const))(
    "%s stays open",
    async (_at, route) => {
      const { site } = await claimed({ clientAuth: "login" });
      expect((await requestSender(site, route)({}, "10.1.2.3"))[0].status).toBe(200);
    },
  );
});

test.each(on("client").map((route) => [label(route), route] as const))(
  "where certificates are asked for, %s is not served in plain HTTP",
  async (_at, route) => {
    const { site } = await claimed({ clientAuth: "mtls" });
    expectRefusal(await requestSender(site, route)({}, "10.1.2.3"), 403, "tls_required");
  },
);

describe("/auth", () => {
  const basic = (name: string, password: string): RequestHeaders => ({
    authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
  });

  const NO_BASIC =
    "HTTP Basic credentials are missing or cannot be read: send the name and the password";

  test("gives a token for the right password, and it works for an hour", async () => {
    const { site } = await withUser();
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

  test("says the same to a wrong name and to a wrong password", async () => {
    const { site } = await withUser();
    const wrong = await site.get("/auth", basic("ada", "wrong password"));
    const nobody = await site.get("/auth", basic("nobody", PASSWORD));
    expect(expectRefusal(wrong, 401, "unauthorized")).toBe(
      expectRefusal(nobody, 401, "unauthorized"),
    );
    expect(wrong[0].headers.get("www-authenticate")).toStartWith("Basic");
  });

  test.each(["", "Basic", "Basic !!!", "Basic Og==", `Basic ${"A".repeat(4_000)}`, "Bearer x"])(
    "%j is no login",
    async (authorization) => {
      const { site } = await withUser();
      const [response, body] = await site.get("/auth", { authorization });
      expect(expectRefusal([response, body], 401, "unauthorized")).toBe(NO_BASIC);
      expect(response.headers.get("www-authenticate")).toStartWith("Basic");
    },
  );

  test("a call without credentials is told that HTTP Basic credentials are missing", async () => {
    const { site } = await withUser();
    expect(expectRefusal(await site.get("/auth"), 401, "unauthorized")).toBe(NO_BASIC);
  });

  test("slows down whoever guesses, and nobody else", async () => {
    const { site } = await withUser();
    for (let tries = 0; tries < 10; tries += 1) {
      expectRefusal(await site.get("/auth", basic("ada", `guess ${tries}`)), 401, "unauthorized");
    }
    expectRefusal(await site.get("/auth", basic("ada", PASSWORD)), 429, "too_many_requests");
    await site.services.access.setUser("bob", "user", PASSWORD, "test");
    expect((await site.get("/auth", basic("bob", PASSWORD)))[0].status).toBe(200);
    site.clock.now = hoursLater(26);
    expect((await site.get("/auth", basic("ada", PASSWORD)))[0].status).toBe(200);
  });

  test("is not open to other machines over plain HTTP unless the operator says so", async () => {
    const closed = await withUser();
    closed.site.peer = "10.1.2.3";
    const refused = await closed.site.get("/auth", basic("ada", PASSWORD));
    expectRefusal(refused, 403, "tls_required");
    const open = await withUser({ allowPlain: true });
    open.site.peer = "10.1.2.3";
    expect((await open.site.get("/auth", basic("ada", PASSWORD)))[0].status).toBe(200);
  });

  test("ends with its user", async () => {
    const { site, user } = await withUser({ clientAuth: "login" });
    expect((await site.get("/api/v4/license", bearer(user)))[0].status).toBe(200);
    await site.services.access.removeUser("ada", "test");
    expectRefusal(await site.get("/api/v4/license", bearer(user)), 401, "unauthorized");
  });
});
