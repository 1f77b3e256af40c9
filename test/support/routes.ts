import type { Plane } from "../../src/http/access/planes.ts";
import type { Method } from "../../src/http/access/route-table.ts";

/**
 * Every route with its plane, repeated on purpose: the sources have the plane beside each route,
 * and a change of it must be made here too.
 */
const ROUTES: Readonly<Record<string, Readonly<Partial<Record<Method, Plane>>>>> = {
  "/": { GET: "open", HEAD: "open" },
  "/api/v4/health": { GET: "open", HEAD: "open" },
  "/api/v4/openapi.json": { GET: "open" },
  "/api/v4/docs": { GET: "open" },
  "/assets/:name": { GET: "open" },
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

  "/metrics": { GET: "admin" },
  "/api/admin/v1/status": { GET: "admin" },
  "/api/admin/v1/stream": { GET: "admin" },
  "/api/admin/v1/usage": { GET: "admin" },
  "/api/admin/v1/usage/rebuild": { POST: "admin" },
  "/api/admin/v1/report": { GET: "admin" },
  "/api/admin/v1/report/progress": { GET: "admin" },
  "/api/admin/v1/report/what-if": { GET: "admin" },
  "/api/admin/v1/licenses": { GET: "admin" },
  "/api/admin/v1/licenses/remove": { POST: "admin" },
  "/api/admin/v1/requests": { GET: "admin" },
  "/api/admin/v1/requests/document": { GET: "admin" },
  "/api/admin/v1/requests/cancel": { POST: "admin" },
  "/api/admin/v1/move": { POST: "admin" },
  "/api/admin/v1/pair": { GET: "admin" },
  "/api/admin/v1/pair/admit": { POST: "admin" },
  "/api/admin/v1/pair/hand-over": { POST: "admin" },
  "/api/admin/v1/pair/leave": { POST: "admin" },
  "/api/admin/v1/clock": { GET: "admin" },
  "/api/admin/v1/clock/request": { POST: "admin" },
  "/api/admin/v1/clock/accept": { POST: "admin" },
  "/api/admin/v1/clock/repair": { POST: "admin" },
  "/api/admin/v1/trust": { GET: "admin" },
  "/api/admin/v1/trust/show": { POST: "admin" },
  "/api/admin/v1/trust/add": { POST: "admin" },
  "/api/admin/v1/trust/remove": { POST: "admin" },
  "/api/admin/v1/statements": { GET: "admin", POST: "admin" },
  "/api/admin/v1/statements/document": { GET: "admin" },
  "/api/admin/v1/statements/acknowledge": { POST: "admin" },
  "/api/admin/v1/rules": { GET: "admin", PUT: "admin" },
  "/api/admin/v1/rules/check": { POST: "admin" },
  "/api/admin/v1/rules/clear": { POST: "admin" },
  "/api/admin/v1/rules/explain": { GET: "admin" },
  "/api/admin/v1/registrations": { GET: "admin" },
  "/api/admin/v1/registrations/slice": { GET: "admin" },
  "/api/admin/v1/registrations/changes": { GET: "admin" },
  "/api/admin/v1/registrations/release": { POST: "admin" },
  "/api/admin/v1/registrations/release/users": { POST: "admin" },
  "/api/admin/v1/registrations/release/all": { POST: "admin" },
  "/api/admin/v1/queue": { GET: "admin" },
  "/api/admin/v1/queue/front": { POST: "admin" },
  "/api/admin/v1/queue/drop": { POST: "admin" },
  "/api/admin/v1/audit": { GET: "admin" },
  "/api/admin/v1/audit/csv": { GET: "admin" },
  "/api/admin/v1/audit/export": { GET: "admin" },
  "/api/admin/v1/audit/repair": { POST: "admin" },
  "/api/admin/v1/audit/seal": { POST: "admin" },
  "/api/admin/v1/access": { GET: "admin" },
  "/api/admin/v1/access/tokens": { POST: "admin" },
  "/api/admin/v1/access/tokens/revoke": { POST: "admin" },
  "/api/admin/v1/access/users": { POST: "admin" },
  "/api/admin/v1/access/users/remove": { POST: "admin" },
  "/api/admin/v1/sessions": { POST: "admin" },
  "/api/admin/v1/sessions/revoke": { POST: "admin" },
  "/api/admin/v1/settings": { GET: "admin", POST: "admin" },
  "/api/admin/v1/notices": { GET: "admin" },
  "/api/admin/v1/doctor": { GET: "admin" },
  "/api/admin/v1/verify": { GET: "admin" },
  "/api/admin/v1/backup": { POST: "admin" },
  "/api/admin/v1/backups": { GET: "admin", POST: "admin" },
  "/api/admin/v1/backups/verify": { POST: "admin" },
  "/api/admin/v1/backups/download": { POST: "admin" },
  "/api/admin/v1/events/test": { POST: "admin" },
  "/api/admin/v1/support-bundle": { POST: "admin" },
  "/api/admin/v1/qr": { POST: "admin" },
  "/api/admin/v1/qr/join": { POST: "admin" },
};

export const routes = new Map(Object.entries(ROUTES));

/** The pages and their files. Other sites may link to them. */
export const PAGE_PATHS: readonly string[] = ["/", "/api/v4/docs", "/assets/:name"];

/** Routes that change nothing although the method is POST. */
export const CHANGES_NOTHING_BY_POST: readonly string[] = [
  "POST /api/admin/v1/backups/verify",
  "POST /api/admin/v1/rules/check",
  "POST /api/admin/v1/trust/show",
  "POST /api/admin/v1/qr",
  "POST /api/admin/v1/qr/join",
];

/** Routes that viewers may call although they change data: they start and end their own session. */
export const CHANGES_BY_VIEWERS: readonly string[] = [
  "POST /api/admin/v1/sessions",
  "POST /api/admin/v1/sessions/revoke",
];

/** Administration that changes data although the method is GET. */
export const CHANGES_BY_GET: readonly string[] = [
  "GET /api/v4/check_license_feature",
  "GET /api/v4/setKeys",
  "GET /api/v4/unregister/all",
  "GET /api/v4/featureRelease/all",
  "GET /api/v4/feature_release/all",
];
