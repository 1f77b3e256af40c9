// One request for every route, made so that it would do something: what attackers send, and what
// our own page and programs send to show that it works.
import { routes, type Method } from "../../src/http/planes.ts";
import { splitIntoFrames } from "../../src/license/qr.ts";
import type { DemoSite } from "./demo-site.ts";

export type Fields = Readonly<Record<string, string>>;

export interface RouteRequest {
  readonly method: Method;
  readonly path: string;
  readonly fields: Fields;
  /** Who must hold what before it does anything. */
  readonly setup?: readonly (readonly [path: string, fields: Fields])[];
  /** It gets as far as its handler, but there is nothing to do for it on a healthy site. */
  readonly isRejected?: true;
  /** It is done, and what is kept stays as it was. */
  readonly isReadOnly?: true;
}

const DEMO = { product: "DEMO" };
const ADA = { user: "ada" };
const RENDER = { ...ADA, feature: "RENDER" };
const PASSWORD = "correct horse battery";

const registered = ["/api/v4/register", ADA] as const;
const rendering = [registered, ["/api/v4/featureRegister", RENDER]] as const;

/** In an order in which each does something; the last but one closes administration. */
export const routeRequestsFor = (site: DemoSite): readonly RouteRequest[] => [
  post("/api/v4/register", { user: "grace" }),
  post("/api/v4/borrow", { user: "grace" }),
  post("/api/v4/unregister", ADA, [registered]),
  post("/api/v4/add_consumption", { consumptions: "1" }),
  post("/api/v4/add_feature_consumption", { feature: "EXPORT", consumptions: "1" }),
  post("/api/v4/featureRegister", RENDER, [registered]),
  post("/api/v4/featureRelease", RENDER, rendering),
  post("/api/v4/check_license_feature", RENDER, [registered]),
  post("/api/v4/feature_release", RENDER, rendering),
  get("/api/v4/check_license_feature", RENDER, [registered]),
  get("/api/v4/featureRelease/all", DEMO, rendering),
  get("/api/v4/feature_release/all", DEMO, rendering),
  get("/api/v4/unregister/all", DEMO, [registered]),
  post("/api/v4/unregister/all", {}, [registered]),
  get("/api/v4/setKeys", { apiKey: "a1", sharedKey: "s1" }),
  post("/api/v4/setKeys", { apiKey: "a2", sharedKey: "s2" }),
  post("/api/v4/airgap/license", site.airgapBody),
  post("/api/v4/airgap/generate", { license_key: "EVE-1" }),
  post("/api/v4/license/generate", {}),
  post("/api/v4/license/upload", { license: site.license }),
  post("/api/admin/v1/registrations/release", ADA, [registered]),
  post("/api/admin/v1/licenses/remove", { license_id: site.licenseId, with_borrows: "true" }),
  { ...post("/api/admin/v1/trust/show", { license: site.license }), isRejected: true },
  post("/api/admin/v1/trust/add", { license: site.otherTrust }),
  post("/api/admin/v1/trust/remove", { vendor: site.otherVendor }),
  { ...post("/api/admin/v1/move", { appliance: "0000000000000000" }), isRejected: true },
  post("/api/admin/v1/clock/request", {}),
  post("/api/admin/v1/clock/accept", {}),
  { ...post("/api/admin/v1/clock/repair", { license: site.license }), isRejected: true },
  { ...post("/api/admin/v1/backup", {}), isReadOnly: true },
  { ...post("/api/admin/v1/support-bundle", {}), isReadOnly: true },
  { ...post("/api/admin/v1/qr", { text: "a text" }), isReadOnly: true },
  {
    ...post("/api/admin/v1/qr/join", { frames: splitIntoFrames("a text").join("\n") }),
    isReadOnly: true,
  },
  post("/api/admin/v1/access/users", { name: "eve", role: "user", password: PASSWORD }),
  post("/api/admin/v1/access/users/remove", { name: "eve" }),
  post("/api/admin/v1/access/tokens", { name: "eve" }),
  post("/api/admin/v1/access/tokens/revoke", { name: "eve" }, [
    ["/api/admin/v1/access/tokens", { name: "ops" }],
  ]),
];

const post = (path: string, fields: Fields, first: RouteRequest["setup"] = []): RouteRequest => ({
  method: "POST",
  path,
  fields,
  setup: first,
});
const get = (path: string, fields: Fields, first: RouteRequest["setup"] = []): RouteRequest => ({
  ...post(path, fields, first),
  method: "GET",
});

/** Something a page sends, ready to be sent. */
export interface AttackRequest {
  readonly method: string;
  readonly url: string;
  readonly query: string;
  readonly fields: Fields;
  /** The body where it is not a form: JSON, or the document where a document is taken as it is. */
  readonly text: string;
}

/** Every act and every route that only shows something, at an address. */
export function attackRequestsAt(base: string, acts: readonly RouteRequest[]): AttackRequest[] {
  const shown = [...routes].flatMap(([path, route]) =>
    Object.keys(route)
      .filter((method) => !acts.some((act) => act.path === path && act.method === method))
      .map((method) => ({ method, path, fields: {} as Fields })),
  );
  return [...acts, ...shown].map(({ method, path, fields }) => ({
    method,
    url: `${base}${path}`,
    query: new URLSearchParams({ ...fields }).toString(),
    fields,
    text: fields["license"] ?? JSON.stringify(fields),
  }));
}
