import { describe, expect, test } from "bun:test";
import manifest from "../../../package.json";
import { routes } from "../../support/routes.ts";
import { splitIntoFrames } from "../../../src/license/qr/qr.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type ApiResponse,
  type Appliance,
} from "../../support/appliance.ts";
import { dereference, type JsonObject } from "../../support/openapi-rules.ts";
import { findMismatches } from "../../support/openapi-values.ts";
import { consumptionTerms, featureTerms, hoursLater } from "../../support/scenario.ts";
import { makeMaintenance } from "../../support/maintenance.ts";
import { LICENSING_CALLS, type ApiCall } from "../licensing-calls.ts";

const TAR = "application/x-tar";
const TEXT = { accept: "text/plain" };

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: { readonly type: string };
}

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, Content>>;
    readonly "x-also-accepts"?: readonly string[];
  };
  readonly responses: Readonly<Record<string, { readonly content?: Record<string, Content> }>>;
}

interface Schema {
  readonly type: string;
  readonly enum?: readonly string[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, { readonly type: string }>>;
}

interface Content {
  readonly schema: Schema;
  readonly example?: Readonly<Record<string, unknown>>;
}

interface Document extends JsonObject {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const fetchDocument = async (site: Appliance): Promise<Document> =>
  expectOk(await site.get<Document>("/api/v4/openapi.json"));

let cachedDocument: Promise<Document> | null = null;

/** It is the same on every site. */
const readDocument = (): Promise<Document> =>
  (cachedDocument ??= openAppliance().then(fetchDocument));

const listOperations = ({ paths }: Document): [string, Operation][] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );

/** The scripts, styles and icons of a page are not operations. */
const isOperation = (route: string): boolean =>
  !route.startsWith("HEAD ") && !route.includes(" /assets/");

test("the OpenAPI document lists exactly the routes of the route table", async () => {
  const document = await readDocument();
  const listed = [...routes].flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  expect(
    listOperations(document)
      .map(([route]) => route)
      .toSorted(),
  ).toEqual(listed.filter(isOperation).toSorted());
});

test("the OpenAPI document is OpenAPI 3, has this version, and is the same on every site", async () => {
  const document = await readDocument();
  expect(document.openapi).toStartWith("3.");
  expect(document.info.version).toBe(manifest.version);
  const site = await openAppliance({ licenses: {} });
  expect(await fetchDocument(site)).toEqual(document);
  expect(await fetchDocument(site)).toEqual(document);
});

test("every OpenAPI operation has a summary, a unique id, a success and a default refusal", async () => {
  const operations = listOperations(await readDocument());
  for (const [route, { summary, responses }] of operations) {
    expect([route, summary]).toEqual([route, expect.stringMatching(/./)]);
    expect([route, responses]).toEqual([
      route,
      expect.objectContaining({ 200: expect.anything(), default: expect.anything() }),
    ]);
  }
  const ids = operations.map(([, { operationId }]) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

/** The fields of the contract, repeated on purpose. An operation may have further fields. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  "POST /api/v4/register": ["product", "user", "os_hostname", "ip_local", "user_info"],
  "POST /api/v4/borrow": [
    "product",
    "user",
    "os_hostname",
    "ip_local",
    "user_info",
    "borrowed_until",
  ],
  "POST /api/v4/add_consumption": ["product", "consumptions", "max_overages", "allow_overages"],
  "POST /api/v4/add_feature_consumption": ["product", "feature", "consumptions"],
  "POST /api/v4/license/generate": [
    "product",
    "license_key",
    "wanted_slots",
    "wanted_until",
    "note",
    "hosts",
  ],
  "POST /api/v4/unregister": ["product", "user", "license_id"],
  "POST /api/v4/unregister/all": ["product"],
  "POST /api/v4/featureRegister": [
    "product",
    "feature",
    "user",
    "os_hostname",
    "ip_local",
    "user_info",
  ],
  "POST /api/v4/featureRelease": ["product", "feature", "user"],
};

const UPLOADS = new Set([
  "POST /api/v4/license/upload",
  "POST /api/admin/v1/trust/show",
  "POST /api/admin/v1/trust/add",
  "POST /api/admin/v1/clock/repair",
  "POST /api/admin/v1/statements/acknowledge",
]);

/** These operations have no fields, so an empty body is the same as none. */
const WITHOUT_FIELDS = new Set([
  "POST /api/admin/v1/pair/hand-over",
  "POST /api/admin/v1/sessions",
  "POST /api/admin/v1/clock/request",
  "POST /api/admin/v1/clock/accept",
  "POST /api/admin/v1/backup",
  "POST /api/admin/v1/backups",
  "POST /api/admin/v1/events/test",
  "POST /api/admin/v1/support-bundle",
  "POST /api/admin/v1/usage/rebuild",
  "POST /api/admin/v1/rules/clear",
]);

const bodySchema = (document: Document, body: Operation["requestBody"]): Schema | undefined =>
  dereference(document, body?.content["application/json"]?.schema) as Schema | undefined;

/** Fields that are no strings. */
const OBJECT_FIELDS: Readonly<Record<string, object>> = {
  "POST /api/admin/v1/settings changes": {
    type: "object",
    additionalProperties: {
      anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, nullable: true }],
    },
  },
};

test("the OpenAPI document describes every request field as optional, and as a string or an object", async () => {
  const document = await readDocument();
  for (const [route, { parameters, requestBody }] of listOperations(document)) {
    const hasBody = /^(?:POST|PUT) /.test(route) && !WITHOUT_FIELDS.has(route);
    expect([route, requestBody !== undefined]).toEqual([route, hasBody]);
    for (const { required, schema } of parameters) {
      expect([route, required ?? false, schema.type]).toEqual([route, false, "string"]);
    }
    if (requestBody === undefined) continue;
    expect([route, Object.keys(requestBody.content)]).toEqual([route, ["application/json"]]);
    const others = UPLOADS.has(route) ? ["text/plain", "multipart/form-data"] : undefined;
    expect([route, requestBody["x-also-accepts"]]).toEqual([route, others]);
    const schema = bodySchema(document, requestBody);
    expect([route, schema?.type, schema?.required ?? []]).toEqual([route, "object", []]);
    for (const [name, field] of Object.entries(schema?.properties ?? {})) {
      const expected = OBJECT_FIELDS[`${route} ${name}`] ?? { type: "string" };
      expect([route, name, field]).toMatchObject([route, name, expected]);
    }
  }
});

test("the OpenAPI document requires a body exactly where a call without one is refused", async () => {
  const site = await openAppliance({ maintenance: makeMaintenance });
  const posts = listOperations(await readDocument()).filter(([route]) => route.startsWith("POST "));
  expect(posts.length).toBeGreaterThan(30);
  let optional = 0;
  for (const [route, { requestBody }] of posts) {
    const [{ status }] = await site.send("POST", route.slice("POST ".length));
    expect([route, requestBody?.required ?? false]).toEqual([route, status === 415]);
    optional += status === 415 ? 0 : 1;
  }
  expect(optional).toBeGreaterThan(4);
});

test.each(Object.entries(FIELDS))(
  "the OpenAPI document has all contract fields of %s",
  async (route, names) => {
    const document = await readDocument();
    const body = bodySchema(document, new Map(listOperations(document)).get(route)?.requestBody);
    expect(Object.keys(body?.properties ?? {})).toEqual(expect.arrayContaining([...names]));
  },
);

test("every request example of the OpenAPI document succeeds", async () => {
  const site = await openAppliance({
    licenses: {
      1: {
        product: "DEMO",
        borrowHours: 24 * 365 * 2,
        consumption: consumptionTerms({ overages: 10 }),
        features: [
          featureTerms("RENDER", { floating: { slots: 2, timeoutMinutes: 15 } }),
          featureTerms("EXPORT", { consumption: consumptionTerms() }),
        ],
      },
    },
  });
  const examples = listOperations(await readDocument()).flatMap(([route, { requestBody }]) => {
    const example = requestBody?.content["application/json"]?.example;
    return example === undefined ? [] : [[route.slice("POST ".length), example] as const];
  });
  expect(examples.length).toBeGreaterThan(6);
  for (const [path, example] of examples) {
    expectOk(await site.register({ user: "ada" }));
    if (path.startsWith("/api/admin/v1/queue/")) {
      expectRefusal(await site.post(path, example), 400, "not_waiting");
      continue;
    }
    if (/feature_?release$/i.test(path)) expectOk(await site.post("featureRegister", example));
    const reply = await site.post(path, example);
    // A valid policy needs a vendor's signature, which a general document cannot contain.
    if (path === "/api/v4/airgap/license") expectRefusal(reply, 400, "invalid_license_file");
    else expectOk(reply);
  }
});

/** Takes all slots, and a place in the queue. */
async function waitAsCyd(site: Appliance): Promise<void> {
  for (const user of ["ada", "bob", "cyd"]) {
    await site.register({ product: "cad", user }, { prefer: "wait=0" });
  }
}

describe("the OpenAPI document describes the real reply of", () => {
  const ada = { user: "ada", product: "cad" };
  const view = { ...ada, feature: "view" };
  const makeBackup = async (site: Appliance): Promise<string> =>
    expectOk(await site.post<{ readonly name: string }>("/api/admin/v1/backups", {})).name;
  const REPLIES: Readonly<Record<string, ApiCall>> = {
    "GET /api/v4/health": (site) => site.get("/api/v4/health"),
    "GET /api/v4/openapi.json": (site) => site.get("/api/v4/openapi.json"),
    "POST /api/v4/register": (site) => site.register(ada),
    "POST /api/v4/borrow": (site) => site.borrow(ada),
    "POST /api/v4/add_consumption": (site) => site.addConsumption(ada),
    "POST /api/v4/add_feature_consumption": (site) =>
      site.addFeatureConsumption({ ...ada, feature: "plot" }),
    "POST /api/v4/featureRegister": (site) => site.featureRegister(view),
    "POST /api/v4/check_license_feature": (site) => site.post("check_license_feature", view),
    "GET /api/v4/check_license_feature": (site) =>
      site.get("/api/v4/check_license_feature?user=ada&product=cad&feature=view"),
    "GET /api/v4/license": (site) => site.license("?product=cad"),
    ...LICENSING_CALLS,
    "GET /auth": async (site) => {
      await site.services.access.setUser("ada", "user", "a long password", "test");
      const authorization = `Basic ${btoa("ada:a long password")}`;
      return site.send("GET", "/auth", { headers: { authorization } });
    },
    "GET /api/admin/v1/access": (site) => site.get("/api/admin/v1/access"),
    "POST /api/admin/v1/access/tokens": (site) =>
      site.post("/api/admin/v1/access/tokens", { name: "ops", role: "viewer", days: 3 }),
    "POST /api/admin/v1/access/tokens/revoke": async (site) => {
      await site.services.access.createToken("ops", null, "test");
      const created = await site.services.access.createToken("other", null, "test");
      const authorization = `Bearer ${created.ok ? created.value.token : ""}`;
      const body = JSON.stringify({ name: "ops" });
      const headers = { authorization, "content-type": "application/json" };
      return site.send("POST", "/api/admin/v1/access/tokens/revoke", { headers, body });
    },
    "POST /api/admin/v1/sessions": async (site) => {
      const created = await site.services.access.createToken("ops", null, "test");
      const authorization = `Bearer ${created.ok ? created.value.token : ""}`;
      return site.send("POST", "/api/admin/v1/sessions", { headers: { authorization } });
    },
    "POST /api/admin/v1/sessions/revoke": async (site) => {
      const { access } = site.services;
      const created = await access.createToken("ops", null, "test");
      const started = await access.startSession(created.ok ? created.value.token : "", "test");
      const authorization = `Bearer ${started.ok ? started.value.token : ""}`;
      const id = started.ok ? started.value.id : "";
      return site.post("/api/admin/v1/sessions/revoke", { id }, { authorization });
    },
    "POST /api/admin/v1/access/users": (site) =>
      site.post("/api/admin/v1/access/users", { name: "bob", password: "a long password" }),
    "POST /api/admin/v1/access/users/remove": async (site) => {
      await site.services.access.setUser("ada", "user", "a long password", "test");
      return site.post("/api/admin/v1/access/users/remove", { name: "ada" });
    },
    "GET /api/admin/v1/status": (site) => site.status(),
    "GET /api/admin/v1/report": (site) =>
      site.get("/api/admin/v1/report?sessions=true&idle_days=1"),
    "GET /api/admin/v1/report/what-if": (site) =>
      site.get("/api/admin/v1/report/what-if?product=cad&slots=1..4"),
    "POST /api/admin/v1/usage/rebuild": (site) => site.post("/api/admin/v1/usage/rebuild", {}),
    "GET /api/admin/v1/usage": (site) => site.get("/api/admin/v1/usage?range=week"),
    "GET /api/admin/v1/licenses": (site) => site.licenses(),
    "GET /api/admin/v1/audit": (site) => site.get("/api/admin/v1/audit"),
    "POST /api/admin/v1/audit/repair": (site) => site.post("/api/admin/v1/audit/repair", {}),
    "POST /api/admin/v1/audit/seal": (site) =>
      site.post("/api/admin/v1/audit/seal", { month: "2026-03" }),
    "GET /api/admin/v1/registrations": (site) => site.registrations(),
    "GET /api/admin/v1/registrations/slice": (site) =>
      site.get("/api/admin/v1/registrations/slice"),
    "GET /api/admin/v1/registrations/changes": (site) =>
      site.get("/api/admin/v1/registrations/changes"),
    "POST /api/admin/v1/registrations/release": (site) =>
      site.post("/api/admin/v1/registrations/release", ada),
    "POST /api/admin/v1/registrations/release/users": (site) =>
      site.post("/api/admin/v1/registrations/release/users", { users: "ada" }),
    "POST /api/admin/v1/registrations/release/all": (site) =>
      site.post("/api/admin/v1/registrations/release/all", { product: "cad" }),
    "GET /api/admin/v1/queue": async (site) => {
      await waitAsCyd(site);
      return site.get("/api/admin/v1/queue");
    },
    "POST /api/admin/v1/queue/front": async (site) => {
      await waitAsCyd(site);
      return site.post("/api/admin/v1/queue/front", { product: "cad", user: "cyd" });
    },
    "POST /api/admin/v1/queue/drop": async (site) => {
      await waitAsCyd(site);
      return site.post("/api/admin/v1/queue/drop", { product: "cad", user: "cyd" });
    },
    "GET /api/admin/v1/settings": (site) => site.get("/api/admin/v1/settings"),
    "POST /api/admin/v1/settings": (site) =>
      site.post("/api/admin/v1/settings", { changes: '{"site_name": "Plant 5"}' }),
    "GET /api/admin/v1/notices": (site) => site.get("/api/admin/v1/notices"),
    "GET /api/admin/v1/doctor": (site) => site.get("/api/admin/v1/doctor"),
    "GET /api/admin/v1/verify": (site) => site.get("/api/admin/v1/verify"),
    "GET /api/admin/v1/backups": async (site) => {
      await site.post("/api/admin/v1/backups", {});
      return site.get("/api/admin/v1/backups");
    },
    "POST /api/admin/v1/events/test": (site) => site.post("/api/admin/v1/events/test", {}),
    "POST /api/admin/v1/backups": (site) => site.post("/api/admin/v1/backups", {}),
    "POST /api/admin/v1/backups/verify": async (site) => {
      const name = await makeBackup(site);
      return site.post("/api/admin/v1/backups/verify", { backup: name });
    },
    "GET /api/admin/v1/rules": (site) => site.get("/api/admin/v1/rules"),
    "PUT /api/admin/v1/rules": (site) => applyRules(site),
    "POST /api/admin/v1/rules/clear": (site) =>
      site.post("/api/admin/v1/rules/clear", {}, { "if-match": "*" }),
    "POST /api/admin/v1/rules/check": (site) =>
      site.post("/api/admin/v1/rules/check", { text: RULES_TEXT }),
    "GET /api/admin/v1/rules/explain": async (site) => {
      expectOk(await applyRules(site));
      return site.get("/api/admin/v1/rules/explain?user=ada&product=cad");
    },
    "POST /api/admin/v1/qr": (site) => site.post("/api/admin/v1/qr", { text: "a text" }),
    "POST /api/admin/v1/qr/join": (site) =>
      site.post("/api/admin/v1/qr/join", { frames: splitIntoFrames("a text").join("\n") }),
  };
  const RULES_TEXT =
    '[groups.g]\nusers = ["b*"]\n[[rule]]\nproduct = "cad"\ndeny = ["g"]\nlimit = { each_user = 0 }\n';
  const applyRules = (site: Appliance) =>
    site.send("PUT", "/api/admin/v1/rules", {
      body: JSON.stringify({ text: RULES_TEXT }),
      headers: { "content-type": "application/json", "if-match": "*" },
    });
  const FILES: Readonly<Record<string, (site: Appliance) => Promise<string>>> = {
    "POST /api/admin/v1/backup": async () => "{}",
    "POST /api/admin/v1/backups/download": async (site) =>
      JSON.stringify({ backup: await makeBackup(site) }),
    "POST /api/admin/v1/support-bundle": async () => "{}",
  };
  const TEXTS: Readonly<Record<string, ApiCall>> = {
    "POST /api/v4/unregister": (site) => site.unregister(ada),
    "POST /api/v4/featureRelease": (site) => site.featureRelease(view),
    "POST /api/v4/feature_release": (site) => site.post("feature_release", view),
  };
  const LINES = ["GET /api/admin/v1/stream"];
  const PAGES = ["GET /", "GET /api/v4/docs"];
  const EMPTY = [
    "GET /api/v4/unregister/all",
    "POST /api/v4/unregister/all",
    "GET /api/v4/featureRelease/all",
    "GET /api/v4/feature_release/all",
  ];

  /** They succeed only in a pair; test/pair/membership.suite.ts calls them. */
  const IN_A_PAIR = ["admit", "hand-over", "leave"].map(
    (name) => `POST /api/admin/v1/pair/${name}`,
  );
  const EXPORT = "GET /api/admin/v1/audit/export";
  const CSV_EXPORT = "GET /api/admin/v1/audit/csv";
  const METRICS = "GET /metrics";

  async function openSiteInUse(): Promise<Appliance> {
    const site = await openAppliance({
      maintenance: makeMaintenance,
      licenses: {
        1: {
          consumption: consumptionTerms({ max: null, period: "daily" }),
          validUntil: hoursLater(90),
          features: [
            featureTerms("view", {
              floating: { slots: 3, timeoutMinutes: 10 },
              expires: hoursLater(9),
            }),
            featureTerms("plot", { consumption: consumptionTerms() }),
          ],
        },
        2: { product: "cam", consumption: null, borrowHours: null },
      },
    });
    expectOk(await site.borrow({ ...ada, user: "bob" }));
    expectOk(await site.register(ada));
    expectOk(await site.featureRegister(view));
    return site;
  }

  test("every operation: each is in one of these lists", async () => {
    const operations = listOperations(await readDocument());
    const covered = [
      ...Object.keys(REPLIES),
      ...Object.keys(TEXTS),
      ...LINES,
      ...Object.keys(FILES),
      EXPORT,
      CSV_EXPORT,
      METRICS,
      ...PAGES,
      ...EMPTY,
      ...IN_A_PAIR,
    ];
    expect(operations.map(([route]) => route).toSorted()).toEqual(covered.toSorted());
  });

  test.each(Object.entries(REPLIES))("%s", async (route, call) => {
    const site = await openSiteInUse();
    const reply = expectOk(await call(site));
    const document = await readDocument();
    expect(findMismatches(document, replySchema(document, route), reply)).toEqual([]);
  });

  test("register, and a reply with wrong fields is detected", async () => {
    const site = await openSiteInUse();
    const document = await readDocument();
    const schema = replySchema(document, "POST /api/v4/register");
    const reply = expectOk(await site.register(ada));
    expect(findMismatches(document, schema, reply)).toEqual([]);
    const { lease, ...less } = reply;
    const wrong = { ...less, license_id: "1", expires_at: "soon", user: null, more: 1 };
    expect(lease).toBeNull();
    expect(findMismatches(document, schema, wrong)).toEqual([
      ".lease: is missing",
      ".user: null is not of type string",
      '.license_id: "1" is not of type integer',
      '.expires_at: "soon" is not a time',
      ".more: is not described",
    ]);
  });

  /** The media types of a successful reply, with their schemas. */
  const readContents = async (route: string) =>
    new Map(listOperations(await readDocument())).get(route)?.responses["200"]?.content ?? {};

  const JWT = { accept: "application/jwt" };

  test("GET /api/v4/license with the vendor's document as application/jwt", async () => {
    const site = await openSiteInUse();
    const contents = await readContents("GET /api/v4/license");
    const [response, text] = await site.get<string>("/api/v4/license?product=cad", JWT);
    expect([response.status, text.split(".").length]).toEqual([200, 3]);
    expect(response.headers.get("content-type")).toBe("application/jwt");
    expect(Object.keys(contents)).toEqual(["application/json", "application/jwt"]);
    expect(contents["application/jwt"]?.schema.type).toBe("string");
  });

  test("GET /api/v4/license with the bundle of a license installed by code", async () => {
    const site = await openSiteInUse();
    const added = await LICENSING_CALLS["POST /api/v4/airgap/license"]?.(site);
    const { id } = expectOk(added as ApiResponse<{ readonly id: number }>);
    const bundle = expectOk(
      await site.get<object>(`/api/v4/license?product=cad&license_id=${id}`, JWT),
    );
    expect(bundle).toMatchObject({ license_key: "K" });
    const document = await readDocument();
    expect(findMismatches(document, replySchema(document, "GET /api/v4/license"), bundle)).toEqual(
      [],
    );
  });

  test("POST /api/v4/license/generate with the payload as plain text", async () => {
    const site = await openSiteInUse();
    const contents = await readContents("POST /api/v4/license/generate");
    const [response, text] = await site.post<string>("license/generate", {}, TEXT);
    expect([response.status, text.split(".").length]).toEqual([200, 3]);
    expect(Object.keys(contents)).toEqual(["application/json", "text/plain"]);
    expect(contents["text/plain"]?.schema).toMatchObject({ type: "string" });
    expect(contents["text/plain"]?.schema.enum).toBeUndefined();
  });

  test.each(Object.entries(TEXTS))("%s", async (route, call) => {
    const site = await openSiteInUse();
    const documented = new Map(listOperations(await readDocument())).get(route)?.responses["200"];
    expect(documented?.content?.["text/plain"]?.schema.enum).toEqual([
      expectOk(await call(site)) as string,
    ]);
  });

  test.each(LINES)("%s", async (route) => {
    const site = await openSiteInUse();
    const [path = ""] = route.split(" ").slice(1);
    const line: unknown = JSON.parse(expectOk(await site.get<string>(path)));
    const document = await readDocument();
    const schema = replySchema(document, route, "application/x-ndjson");
    expect(findMismatches(document, schema, line)).toEqual([]);
  });

  test.each(Object.entries(FILES))("%s as a file", async (route, makeBody) => {
    const site = await openSiteInUse();
    const documented = new Map(listOperations(await readDocument())).get(route)?.responses["200"];
    const [response] = await site.send("POST", route.slice("POST ".length), {
      headers: { "content-type": "application/json" },
      body: await makeBody(site),
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, TAR]);
    expect(Object.keys(documented?.content ?? {})).toEqual([TAR]);
  });

  test.each([EXPORT, CSV_EXPORT])("%s as a file of its type", async (route) => {
    const site = await openSiteInUse();
    const documented = new Map(listOperations(await readDocument())).get(route)?.responses["200"];
    const [response] = await site.get(route.slice("GET ".length));
    const [mediaType] = (response.headers.get("content-type") ?? "").split(";");
    expect(Object.keys(documented?.content ?? {})).toEqual([mediaType ?? ""]);
  });

  test("GET /metrics in both formats", async () => {
    const site = await openAppliance();
    const documented = new Map(listOperations(await readDocument())).get(METRICS)?.responses["200"];
    const types: string[] = [];
    for (const accept of ["text/plain", "application/openmetrics-text"]) {
      const [response] = await site.get("/metrics", { accept });
      types.push((response.headers.get("content-type") ?? "").split(";")[0] ?? "");
    }
    expect(Object.keys(documented?.content ?? {})).toEqual(types);
  });

  test.each(PAGES)("%s as a page", async (route) => {
    const site = await openAppliance();
    const documented = new Map(listOperations(await readDocument())).get(route)?.responses["200"];
    const [response] = await site.get(route.slice("GET ".length));
    const [type] = (response.headers.get("content-type") ?? "").split(";");
    expect([response.status, Object.keys(documented?.content ?? {})]).toEqual([200, [type ?? ""]]);
  });

  test.each(EMPTY)("%s without a body", async (route) => {
    const documented = new Map(listOperations(await readDocument())).get(route);
    expect(documented?.responses["200"]?.content).toBeUndefined();
  });
});

function replySchema(document: Document, route: string, type = "application/json"): Schema {
  const schema = new Map(listOperations(document)).get(route)?.responses["200"]?.content?.[type]
    ?.schema;
  if (schema === undefined) throw new Error(`${route} documents no reply`);
  return schema;
}

test("the OpenAPI document has borrowed_until of borrow as an optional date-time that may be absent", async () => {
  const site = await openAppliance();
  const [, { components }] = await site.get<{
    components: { schemas: Record<string, JsonObject> };
  }>("/api/v4/openapi.json");
  const body = components.schemas["BorrowBody"];
  expect(body).not.toHaveProperty("required");
  expect(body).toHaveProperty("properties.borrowed_until", {
    type: "string",
    format: "date-time",
    description:
      "End of the borrow, RFC 3339 with any offset. Absent, null, empty or 0001-01-01T00:00:00Z: " +
      "the longest borrow allowed. Typed clients omit the field for that.",
    nullable: true,
  });
  const latest = hoursLater(24);
  for (const [index, fields] of [{}, { borrowed_until: null }, { borrowed_until: "" }].entries()) {
    const { borrowed_until } = expectOk(
      await site.borrow({ user: `user-${index % 2}`, ...fields }),
    );
    expect(Date.parse(borrowed_until ?? "")).toBe(latest);
  }
  const withoutOffset = await site.borrow({
    user: "user-0",
    borrowed_until: "2026-03-02T12:00:00",
  });
  expectRefusal(withoutOffset, 400, "invalid_timestamp");
});
