// One request for every route, made so that it would have an effect. Attackers send them; Berth's
// own page and programs send them to show that they work.
import { routes } from "../support/routes.ts";
import type { Method } from "../../src/http/access/route-table.ts";
import { splitIntoFrames } from "../../src/license/qr/qr.ts";
import type { DemoSite } from "./demo-site.ts";

export type Fields = Readonly<Record<string, string>>;

export interface RouteRequest {
  readonly method: Method;
  readonly path: string;
  readonly fields: Fields;
  readonly headers?: Fields;
  /** Calls that must come first, or the request would have no effect. */
  readonly setup?: readonly (readonly [path: string, fields: Fields])[];
  /** It reaches its handler, which refuses it with this status on a site with one host. */
  readonly rejection?: 400 | 409;
  /** It succeeds without changing the stored state. */
  readonly isReadOnly?: true;
}

const DEMO = { product: "DEMO" };
const ADA = { user: "ada" };
const RENDER = { ...ADA, feature: "RENDER" };
const ANY_RULES = { "if-match": "*" };
const PASSWORD = "correct horse battery";

const registerAda = ["/api/v4/register", ADA] as const;
const registerRender = [registerAda, ["/api/v4/featureRegister", RENDER]] as const;

/** In an order in which each has an effect; the last but one creates the first credential. */
export const routeRequestsFor = (site: DemoSite): readonly RouteRequest[] => [
  post("/api/v4/register", { user: "grace" }),
  post("/api/v4/borrow", { user: "grace" }),
  post("/api/v4/unregister", ADA, [registerAda]),
  post("/api/v4/add_consumption", { consumptions: "1" }),
  post("/api/v4/add_feature_consumption", { feature: "EXPORT", consumptions: "1" }),
  post("/api/v4/featureRegister", RENDER, [registerAda]),
  post("/api/v4/featureRelease", RENDER, registerRender),
  post("/api/v4/check_license_feature", RENDER, [registerAda]),
  post("/api/v4/feature_release", RENDER, registerRender),
  get("/api/v4/check_license_feature", RENDER, [registerAda]),
  get("/api/v4/featureRelease/all", DEMO, registerRender),
  get("/api/v4/feature_release/all", DEMO, registerRender),
  get("/api/v4/unregister/all", DEMO, [registerAda]),
  post("/api/v4/unregister/all", {}, [registerAda]),
  get("/api/v4/setKeys", { apiKey: "a1", sharedKey: "s1" }),
  post("/api/v4/setKeys", { apiKey: "a2", sharedKey: "s2" }),
  post("/api/v4/airgap/license", site.airgapBody),
  post("/api/v4/airgap/generate", { license_key: "EVE-1" }),
  post("/api/v4/license/generate", {}),
  post("/api/v4/license/upload", { license: site.license }),
  post("/api/admin/v1/requests/cancel", { request_id: site.requestId }),
  post("/api/admin/v1/registrations/release", ADA, [registerAda]),
  post("/api/admin/v1/registrations/release/users", { users: "ada" }, [registerAda]),
  post("/api/admin/v1/registrations/release/all", DEMO, [registerAda]),
  { ...post("/api/admin/v1/queue/front", ADA), rejection: 400 },
  { ...post("/api/admin/v1/queue/drop", ADA), rejection: 400 },
  post("/api/admin/v1/licenses/remove", { license_id: site.licenseId, with_borrows: "true" }),
  { ...post("/api/admin/v1/trust/show", { license: site.license }), rejection: 400 },
  post("/api/admin/v1/trust/add", { license: site.otherTrust }),
  post("/api/admin/v1/trust/remove", { vendor: site.otherVendor }),
  // Licenses of the site were installed today, and a statement covers whole days.
  { ...post("/api/admin/v1/statements", {}), rejection: 400 },
  {
    ...post("/api/admin/v1/statements/acknowledge", { license: site.license }),
    rejection: 400,
  },
  { ...post("/api/admin/v1/move", { appliance: "0000000000000000" }), rejection: 400 },
  { ...post("/api/admin/v1/pair/admit", { request: "{}" }), rejection: 409 },
  { ...post("/api/admin/v1/pair/hand-over", {}), rejection: 409 },
  { ...post("/api/admin/v1/pair/leave", { appliance: "0000000000000000" }), rejection: 400 },
  post("/api/admin/v1/clock/request", {}),
  post("/api/admin/v1/clock/accept", {}),
  { ...post("/api/admin/v1/clock/repair", { license: site.license }), rejection: 400 },
  { ...post("/api/admin/v1/backup", {}), isReadOnly: true },
  { ...post("/api/admin/v1/backups", {}), isReadOnly: true },
  { ...post("/api/admin/v1/events/test", {}), isReadOnly: true },
  { ...post("/api/admin/v1/backups/verify", { backup: "none.berth" }), rejection: 400 },
  { ...post("/api/admin/v1/backups/download", { backup: "none.berth" }), rejection: 400 },
  { ...post("/api/admin/v1/support-bundle", {}), isReadOnly: true },
  { ...post("/api/admin/v1/usage/rebuild", {}), isReadOnly: true },
  { ...post("/api/admin/v1/audit/repair", { accept_gap: "a reason" }), isReadOnly: true },
  // A month without lines.
  { ...post("/api/admin/v1/audit/seal", { month: "2001-01", note: "a note" }), rejection: 400 },
  { ...post("/api/admin/v1/qr", { text: "a text" }), isReadOnly: true },
  {
    ...post("/api/admin/v1/qr/join", { frames: splitIntoFrames("a text").join("\n") }),
    isReadOnly: true,
  },
  { ...put("/api/admin/v1/rules", { text: "# no rules" }), headers: ANY_RULES },
  { ...post("/api/admin/v1/rules/clear", {}), headers: ANY_RULES },
  { ...post("/api/admin/v1/rules/check", { text: "# no rules" }), isReadOnly: true },
  post("/api/admin/v1/settings", { changes: '{"site_name": "evil"}' }),
  post("/api/admin/v1/access/users", { name: "eve", role: "user", password: PASSWORD }),
  post("/api/admin/v1/access/users/remove", { name: "eve" }),
  // Without a credential no session is needed, and none exists.
  { ...post("/api/admin/v1/sessions", {}), isReadOnly: true },
  { ...post("/api/admin/v1/sessions/revoke", { id: "0".repeat(32) }), rejection: 400 },
  post("/api/admin/v1/access/tokens", { name: "eve", role: "admin" }),
  post("/api/admin/v1/access/tokens/revoke", { name: "eve" }, [
    ["/api/admin/v1/access/tokens", { name: "ops", role: "admin" }],
  ]),
];

const post = (path: string, fields: Fields, setup: RouteRequest["setup"] = []): RouteRequest => ({
  method: "POST",
  path,
  fields,
  setup,
});
const get = (path: string, fields: Fields, setup: RouteRequest["setup"] = []): RouteRequest => ({
  ...post(path, fields, setup),
  method: "GET",
});

const put = (path: string, fields: Fields): RouteRequest => ({
  ...post(path, fields),
  method: "PUT",
});

/** A request as a page of another site sends it. */
export interface AttackRequest {
  readonly method: string;
  readonly url: string;
  readonly query: string;
  readonly fields: Fields;
  /** The body if it is not a form: JSON, or the document itself where the route accepts one. */
  readonly text: string;
}

/** The given requests, and one for every other route, at a base URL. */
export function attackRequestsAt(
  base: string,
  routeRequests: readonly RouteRequest[],
): AttackRequest[] {
  const otherRoutes = [...routes].flatMap(([path, route]) =>
    Object.keys(route)
      .filter(
        (method) =>
          !routeRequests.some((request) => request.path === path && request.method === method),
      )
      .map((method) => ({ method, path, fields: {} as Fields })),
  );
  return [...routeRequests, ...otherRoutes].map(({ method, path, fields }) => ({
    method,
    url: `${base}${path}`,
    query: new URLSearchParams({ ...fields }).toString(),
    fields,
    text: fields["license"] ?? JSON.stringify(fields),
  }));
}
