import { describe, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { routes, type Plane } from "../../src/http/planes.ts";
import { expectRefusal, openAppliance, type ApiResponse } from "../support/appliance.ts";

/** The plane of every route, repeated on purpose: a change of a plane must be made here too. */
const EXPECTED: Readonly<Record<string, Plane>> = {
  "GET /": "open",
  "HEAD /": "open",
  "GET /api/v4/health": "open",
  "HEAD /api/v4/health": "open",
  "GET /api/v4/openapi.json": "open",
  "GET /api/v4/docs": "open",
  "GET /page.js": "open",
  "GET /page.css": "open",
  "GET /docs.js": "open",
  "GET /docs.css": "open",
  "GET /icon.svg": "open",
  "GET /auth": "login",
  "POST /api/v4/register": "client",
  "POST /api/v4/borrow": "client",
  "POST /api/v4/unregister": "client",
  "POST /api/v4/add_consumption": "client",
  "POST /api/v4/add_feature_consumption": "client",
  "POST /api/v4/featureRegister": "client",
  "GET /api/v4/check_license_feature": "client",
  "POST /api/v4/check_license_feature": "client",
  "POST /api/v4/featureRelease": "client",
  "POST /api/v4/feature_release": "client",
  "GET /api/v4/license": "client",
  "POST /api/v4/airgap/generate": "admin",
  "POST /api/v4/airgap/license": "admin",
  "GET /api/v4/setKeys": "admin",
  "POST /api/v4/setKeys": "admin",
  "POST /api/v4/license/generate": "admin",
  "POST /api/v4/license/upload": "admin",
  "GET /api/v4/unregister/all": "admin",
  "POST /api/v4/unregister/all": "admin",
  "GET /api/v4/featureRelease/all": "admin",
  "GET /api/v4/feature_release/all": "admin",
  "GET /api/admin/v1/status": "admin",
  "GET /api/admin/v1/stream": "admin",
  "GET /api/admin/v1/usage": "admin",
  "GET /api/admin/v1/licenses": "admin",
  "POST /api/admin/v1/licenses/remove": "admin",
  "GET /api/admin/v1/trust": "admin",
  "POST /api/admin/v1/trust/show": "admin",
  "POST /api/admin/v1/trust/add": "admin",
  "POST /api/admin/v1/trust/remove": "admin",
  "POST /api/admin/v1/move": "admin",
  "GET /api/admin/v1/clock": "admin",
  "POST /api/admin/v1/clock/request": "admin",
  "POST /api/admin/v1/clock/accept": "admin",
  "POST /api/admin/v1/clock/repair": "admin",
  "GET /api/admin/v1/registrations": "admin",
  "GET /api/admin/v1/registrations/slice": "admin",
  "POST /api/admin/v1/registrations/release": "admin",
  "GET /api/admin/v1/audit": "admin",
  "GET /api/admin/v1/audit/export": "admin",
  "POST /api/admin/v1/audit/repair": "admin",
  "POST /api/admin/v1/audit/seal": "admin",
  "GET /api/admin/v1/access": "admin",
  "POST /api/admin/v1/access/tokens": "admin",
  "POST /api/admin/v1/access/tokens/revoke": "admin",
  "POST /api/admin/v1/access/users": "admin",
  "POST /api/admin/v1/access/users/remove": "admin",
  "GET /api/admin/v1/settings": "admin",
  "GET /api/admin/v1/notices": "admin",
  "GET /api/admin/v1/doctor": "admin",
  "GET /api/admin/v1/verify": "admin",
  "POST /api/admin/v1/backup": "admin",
  "POST /api/admin/v1/support-bundle": "admin",
  "POST /api/admin/v1/qr": "admin",
  "POST /api/admin/v1/qr/join": "admin",
};

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

const table = [...routes].flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, plane]) => [`${method} ${path}`, plane] as const),
);

const refusalCode = ([, body]: ApiResponse<unknown>): unknown =>
  typeof body === "object" && body !== null && "code" in body ? body.code : null;

test("the route table has these routes on these planes and no others", () => {
  expect(Object.fromEntries(table)).toEqual(EXPECTED);
});

test("every administrative route is on the admin plane", () => {
  const open = table.filter(
    ([route, plane]) => plane === "client" && /\/all$|\/api\/admin\//.test(route),
  );
  expect(open).toEqual([]);
});

test("the app and the route table have the same routes", async () => {
  const { app } = await openAppliance();
  const served = app.routes.map(({ method, path }) => `${method} ${path}`);
  const listed = table.map(([route]) => route).filter((route) => !route.startsWith("HEAD "));
  expect(served.toSorted()).toEqual(listed.toSorted());
});

test("a route of the app that is missing from the route table is 404", async () => {
  const site = await openAppliance();
  site.app.use(new Elysia({ name: "forgotten" }).get("/api/v4/forgotten", () => "open"));
  expectRefusal(await site.get("/api/v4/forgotten"), 404, "not_found");
});

describe.each([...routes])("the route %s", (path, methods) => {
  test("serves the methods of the route table and replies 405 with Allow to all others", async () => {
    const site = await openAppliance();
    const allow = Object.keys(methods);
    for (const method of METHODS) {
      const reply = await site.send(method, path);
      if (allow.includes(method)) {
        expect([method, reply[0].status]).not.toEqual([method, 405]);
        expect(reply[0].status).not.toBe(404);
        continue;
      }
      const [{ headers }] = reply;
      if (method !== "HEAD") expectRefusal(reply, 405, "method_not_allowed");
      expect([method, reply[0].status]).toEqual([method, 405]);
      expect(headers.get("allow")?.split(", ").toSorted()).toEqual(allow.toSorted());
    }
  });

  test("admits peers from the machine, the local network and elsewhere as its plane says", async () => {
    const site = await openAppliance();
    for (const [method, plane] of Object.entries(methods)) {
      const sendFrom = (peer: string | null): Promise<ApiResponse<unknown>> => {
        site.peer = peer;
        return site.send(method, path);
      };
      const statusFrom = async (peer: string | null): Promise<number> =>
        (await sendFrom(peer))[0].status;
      expect(await statusFrom("203.0.113.9")).toBe(403);
      expect(await statusFrom(null)).toBe(403);
      // The login needs a password, and none was sent.
      if (plane === "login") {
        expectRefusal(await sendFrom("127.0.0.1"), 401, "unauthorized");
        expectRefusal(await sendFrom("10.1.2.3"), 403, "tls_required");
        continue;
      }
      expect([401, 403]).not.toContain(await statusFrom("127.0.0.1"));
      const inside = await sendFrom("10.1.2.3");
      if (plane === "admin") {
        expectRefusal(inside, 401, "unauthorized");
        expect(inside[0].headers.get("www-authenticate")).toBe("Bearer");
      } else {
        expect([401, 403]).not.toContain(inside[0].status);
        expect(refusalCode(inside)).not.toBe("unauthorized");
      }
    }
  });
});
