import { describe, expect, test } from "bun:test";
import manifest from "../../../package.json";
import { routes } from "../../support/routes.ts";
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
import { makeAirgapLicenseBody } from "../../support/vendor.ts";

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

/** With other values than the replies of test/golden, which are compared with the document, too. */
describe("the OpenAPI document describes the real reply of", () => {
  const ada = { user: "ada", product: "cad" };
  const view = { ...ada, feature: "view" };
  const REPLIES: Readonly<Record<string, (site: Appliance) => Promise<ApiResponse<unknown>>>> = {
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
    "GET /api/admin/v1/status": (site) => site.status(),
    "GET /api/admin/v1/report": (site) =>
      site.get("/api/admin/v1/report?sessions=true&idle_days=1"),
    "GET /api/admin/v1/licenses": (site) => site.licenses(),
    "POST /api/admin/v1/rules/check": (site) =>
      site.post("/api/admin/v1/rules/check", { text: RULES_TEXT }),
    "GET /api/admin/v1/rules/explain": async (site) => {
      expectOk(await applyRules(site));
      return site.get("/api/admin/v1/rules/explain?user=ada&product=cad");
    },
  };
  const RULES_TEXT =
    '[groups.g]\nusers = ["b*"]\n[[rule]]\nproduct = "cad"\ndeny = ["g"]\nlimit = { each_user = 0 }\n';
  const applyRules = (site: Appliance) =>
    site.put("/api/admin/v1/rules", { text: RULES_TEXT }, { "if-match": "*" });
  async function openSiteInUse(): Promise<Appliance> {
    const site = await openAppliance({
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
    const { activation_code: code } = expectOk(
      await site.post<{ activation_code: string }>("airgap/generate", { license_key: "K" }),
    );
    const body = await makeAirgapLicenseBody(code, "K");
    const { id } = expectOk(await site.post<{ id: number }>("airgap/license", body));
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

  test("GET /metrics in both formats", async () => {
    const site = await openAppliance();
    const contents = await readContents("GET /metrics");
    const types: string[] = [];
    for (const accept of ["text/plain", "application/openmetrics-text"]) {
      const [response] = await site.get("/metrics", { accept });
      types.push((response.headers.get("content-type") ?? "").split(";")[0] ?? "");
    }
    expect(Object.keys(contents)).toEqual(types);
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
