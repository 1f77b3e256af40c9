/**
 * Which callers a route accepts. Open: every address of the client networks. Client: applications.
 * Login: the route that takes a password. Admin: operators. Every route is listed here with its
 * plane; a route that is missing here gets 404 even if it exists.
 */
export type Plane = "open" | "client" | "login" | "admin";

export type Method = "GET" | "POST" | "HEAD";

type PlaneByMethod = Readonly<Partial<Record<Method, Plane>>>;

const ROUTES: Readonly<Record<string, PlaneByMethod>> = {
  "/": { GET: "open", HEAD: "open" },
  "/api/v4/health": { GET: "open", HEAD: "open" },
  "/api/v4/openapi.json": { GET: "open" },
  "/api/v4/docs": { GET: "open" },
  "/page.js": { GET: "open" },
  "/page.css": { GET: "open" },
  "/docs.js": { GET: "open" },
  "/docs.css": { GET: "open" },
  "/icon.svg": { GET: "open" },
  "/auth": { GET: "login" },

  "/api/v4/register": { POST: "client" },
  "/api/v4/borrow": { POST: "client" },
  "/api/v4/unregister": { POST: "client" },
  "/api/v4/add_consumption": { POST: "client" },
  "/api/v4/add_feature_consumption": { POST: "client" },
  "/api/v4/featureRegister": { POST: "client" },
  "/api/v4/check_license_feature": { GET: "client", POST: "client" },
  "/api/v4/featureRelease": { POST: "client" },
  "/api/v4/feature_release": { POST: "client" },
  "/api/v4/license": { GET: "client" },

  "/api/v4/airgap/generate": { POST: "admin" },
  "/api/v4/airgap/license": { POST: "admin" },
  "/api/v4/setKeys": { GET: "admin", POST: "admin" },
  "/api/v4/license/generate": { POST: "admin" },
  "/api/v4/license/upload": { POST: "admin" },
  "/api/v4/unregister/all": { GET: "admin", POST: "admin" },
  "/api/v4/featureRelease/all": { GET: "admin" },
  "/api/v4/feature_release/all": { GET: "admin" },

  "/api/admin/v1/status": { GET: "admin" },
  "/api/admin/v1/stream": { GET: "admin" },
  "/api/admin/v1/usage": { GET: "admin" },
  "/api/admin/v1/licenses": { GET: "admin" },
  "/api/admin/v1/licenses/remove": { POST: "admin" },
  "/api/admin/v1/move": { POST: "admin" },
  "/api/admin/v1/clock": { GET: "admin" },
  "/api/admin/v1/clock/request": { POST: "admin" },
  "/api/admin/v1/clock/accept": { POST: "admin" },
  "/api/admin/v1/clock/repair": { POST: "admin" },
  "/api/admin/v1/trust": { GET: "admin" },
  "/api/admin/v1/trust/show": { POST: "admin" },
  "/api/admin/v1/trust/add": { POST: "admin" },
  "/api/admin/v1/trust/remove": { POST: "admin" },
  "/api/admin/v1/registrations": { GET: "admin" },
  "/api/admin/v1/registrations/slice": { GET: "admin" },
  "/api/admin/v1/registrations/release": { POST: "admin" },
  "/api/admin/v1/audit": { GET: "admin" },
  "/api/admin/v1/audit/export": { GET: "admin" },
  "/api/admin/v1/audit/repair": { POST: "admin" },
  "/api/admin/v1/audit/seal": { POST: "admin" },
  "/api/admin/v1/access": { GET: "admin" },
  "/api/admin/v1/access/tokens": { POST: "admin" },
  "/api/admin/v1/access/tokens/revoke": { POST: "admin" },
  "/api/admin/v1/access/users": { POST: "admin" },
  "/api/admin/v1/access/users/remove": { POST: "admin" },
  "/api/admin/v1/settings": { GET: "admin" },
  "/api/admin/v1/notices": { GET: "admin" },
  "/api/admin/v1/doctor": { GET: "admin" },
  "/api/admin/v1/verify": { GET: "admin" },
  "/api/admin/v1/backup": { POST: "admin" },
  "/api/admin/v1/support-bundle": { POST: "admin" },
  "/api/admin/v1/qr": { POST: "admin" },
  "/api/admin/v1/qr/join": { POST: "admin" },
};

export const routes: ReadonlyMap<string, PlaneByMethod> = new Map(Object.entries(ROUTES));

/** The pages and their files. Other sites may link to them. */
const PAGES = new Set([
  "/",
  "/api/v4/docs",
  "/page.js",
  "/page.css",
  "/docs.js",
  "/docs.css",
  "/icon.svg",
]);

export const isPage = (path: string): boolean => PAGES.has(path);

/**
 * The path as the router gets it: not decoded, and normalized by the runtime only. So the gate and
 * the router always see the same path.
 */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  return start < 0 ? "/" : url.slice(start, query < 0 ? undefined : query);
}

/** Whether an administration request changes data. Some do so by GET, as the contract requires. */
export const isStateChangingRequest = (method: string, path: string): boolean =>
  method === "POST" || path === "/api/v4/setKeys" || path.endsWith("/all");
