import { describe, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { describeRoute } from "../../../src/http/openapi/describe-route.ts";
import { Refusal } from "../../../src/http/faults.ts";
import { buildRouteTable, findRoute } from "../../../src/http/access/route-table.ts";
import {
  expectRefusal,
  openAppliance,
  openSharedAppliance,
  type ApiResponse,
  type Appliance,
} from "../../support/appliance.ts";
import { routeRequestsFor } from "../../browser/route-requests.ts";
import type { DemoSite } from "../../browser/demo-site.ts";
import {
  CHANGES_BY_GET,
  CHANGES_BY_VIEWERS,
  CHANGES_NOTHING_BY_POST,
  PAGE_PATHS,
  routes,
} from "../../support/routes.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

const table = [...routes].flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, plane]) => [`${method} ${path}`, plane] as const),
);

/** The route table that the gate of a real app uses. */
async function readRouteTable() {
  const { app } = await openAppliance();
  return [...buildRouteTable(app)].flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, route]) => ({ path, method, ...route })),
  );
}

/** The path itself; for the files of the page, that of one of them. */
async function pathToRequest(site: Appliance, path: string): Promise<string> {
  if (!path.startsWith("/assets/")) return path;
  const [, html] = await site.get<string>("/");
  return /"(\/assets\/[^"]+)"/.exec(html)?.[1] ?? "";
}

const label = ({ path, method }: { path: string; method: string }): string => `${method} ${path}`;

const refusalCode = ([, body]: ApiResponse<unknown>): unknown =>
  typeof body === "object" && body !== null && "code" in body ? body.code : null;

test("the app has these routes on these planes and no others", async () => {
  const derived = await readRouteTable();
  expect(Object.fromEntries(derived.map((route) => [label(route), route.plane]))).toEqual(
    Object.fromEntries(table),
  );
});

test("only the pages and their files may be linked from other sites", async () => {
  const pages = (await readRouteTable()).filter(({ isPage }) => isPage).map(({ path }) => path);
  expect([...new Set(pages)].toSorted()).toEqual(PAGE_PATHS.toSorted());
});

/** The routes that change data, by the lists in test/support. */
const changingRoutes = [
  ...table
    .map(([route]) => route)
    .filter((route) => /^(?:POST|PUT) /.test(route) && !CHANGES_NOTHING_BY_POST.includes(route)),
  ...CHANGES_BY_GET,
].toSorted();

test("all POST and PUT routes except these, and these GET routes, change data", async () => {
  const changes = (await readRouteTable()).filter(({ changesState }) => changesState);
  expect(changes.map(label).toSorted()).toEqual(changingRoutes);
});

test("viewers may call every route that changes nothing, and their own sessions", async () => {
  const refused = (await readRouteTable()).filter(({ allowsViewers }) => !allowsViewers);
  expect(refused.map(label).toSorted()).toEqual(
    changingRoutes.filter((route) => !CHANGES_BY_VIEWERS.includes(route)),
  );
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

test("a route without a plane is not in the route table", () => {
  const app = new Elysia()
    .get("/undescribed", () => "open")
    .get("/hidden", () => "open", { detail: { hide: true } })
    .get("/described", () => "open", describeRoute({ plane: "open", id: "get", summary: "Get" }));
  expect([...buildRouteTable(app).keys()]).toEqual(["/described"]);
});

test("the methods of a route are found by their own names only", () => {
  const app = new Elysia().get(
    "/a",
    () => "open",
    describeRoute({ plane: "admin", id: "a", summary: "A" }),
  );
  const routeTable = buildRouteTable(app);
  expect(findRoute(routeTable, "GET", "/a").plane).toBe("admin");
  for (const method of ["constructor", "toString", "get", "HEAD", ""]) {
    expect(() => findRoute(routeTable, method, "/a")).toThrow(Refusal);
  }
  for (const path of ["/a/", "/A", "//a", "/a/b", "", "constructor"]) {
    expect(() => findRoute(routeTable, "GET", path)).toThrow(Refusal);
  }
});

test("a route of the app that is missing from the route table is 404", async () => {
  const site = await openAppliance();
  site.app.use(new Elysia({ name: "forgotten" }).get("/api/v4/forgotten", () => "open"));
  expectRefusal(await site.get("/api/v4/forgotten"), 404, "not_found");
});

/** No request of these tests has the body or the fields that a change needs. */
const sharedSite = openSharedAppliance();

describe.each([...routes])("the route %s", (path, methods) => {
  test("serves the methods of the route table and replies 405 with Allow to all others", async () => {
    const site = sharedSite();
    const allow = Object.keys(methods);
    site.peer = "127.0.0.1";
    for (const method of METHODS) {
      const reply = await site.send(method, await pathToRequest(site, path));
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
    const site = sharedSite();
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

test("attacks of other sites have a request for every route that is not a GET, or changes by GET", () => {
  const requests = routeRequestsFor({} as DemoSite).map(({ method, path }) => `${method} ${path}`);
  const changing = table
    .map(([route]) => route)
    .filter((route) => !/^(?:GET|HEAD) /.test(route) || CHANGES_BY_GET.includes(route));
  expect(requests.toSorted()).toEqual(changing.toSorted());
});
