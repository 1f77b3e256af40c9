import { describe, expect, test } from "bun:test";
import { routes } from "../../support/routes.ts";
import type { Method } from "../../../src/http/access/route-table.ts";
import { openSharedAppliance, type RefusalBody } from "../../support/appliance.ts";
import {
  findBrokenRules,
  listOperations,
  dereference,
  type JsonObject,
} from "../../support/openapi-rules.ts";

const sharedSite = openSharedAppliance();

let cachedDocument: Promise<JsonObject> | null = null;

const readDocument = (): Promise<JsonObject> =>
  (cachedDocument ??= sharedSite()
    .get<JsonObject>("/api/v4/openapi.json")
    .then(([, document]) => document));

interface Parameter {
  readonly name: string;
  readonly in: string;
}

interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly object[];
  readonly parameters: readonly { readonly "x-required"?: true; readonly example?: string }[];
  readonly requestBody?: {
    readonly content: {
      readonly "application/json": {
        readonly schema: { readonly $ref: string };
        readonly example?: JsonObject;
      };
    };
  };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly examples?: Samples }>> }>
  >;
}

type Samples = Readonly<Record<string, { readonly value: RefusalBody }>>;

const readOperations = (document: JsonObject): [string, OperationObject][] =>
  listOperations(document).map(([route, operation]) => [
    route,
    operation as unknown as OperationObject,
  ]);

test("the OpenAPI document breaks no rule", async () => {
  expect(findBrokenRules(await readDocument())).toEqual([]);
});

describe("the OpenAPI rules detect", () => {
  test.each([
    ["another OpenAPI version", '"openapi":"3.0.3"', '"openapi":"3.1.0"'],
    ["another server address", '"servers":[{"url":"/"}]', '"servers":[]'],
    ["an operation without an id", '"operationId":"borrow",', ""],
    ["a repeated id", '"operationId":"borrow"', '"operationId":"register"'],
    ["an id that differs in case only", '"operationId":"borrow"', '"operationId":"reGister"'],
    ["an id with underscores", '"operationId":"borrow"', '"operationId":"post_v4_borrow"'],
    ["a reference without a target", "#/components/schemas/Refusal", "#/components/schemas/None"],
    ["an unknown tag", '"tags":["contract"]', '"tags":["other"]'],
    ["an unknown scheme", '[{"bearer":[]}]', '[{"cookie":[]}]'],
    ["a keyword that OpenAPI does not have", '"x-max-bytes"', '"tolerates"'],
    ["a keyword of later versions", '"format":"date-time"', '"contentMediaType":"text/plain"'],
    ["a type that OpenAPI does not have", '"type":"integer"', '"type":"int"'],
    ["an integer of 32 bits", '"type":"integer","format":"int64"', '"type":"integer"'],
    ["an enum of numbers", '"enum":["activation","consumption"]', '"enum":[1,2]'],
    ["nullable without a type", '"type":"object","allOf":', '"allOf":'],
    ["a license without a URL", '"url":"https:', '"urn":"https:'],
    ["a required field that is not described", '"required":["product",', '"required":["gone",'],
    [
      "a response without a description",
      '"description":"Success; changes are on disk"',
      '"description":""',
    ],
    ["an empty summary", '"summary":"Get server health"', '"summary":""'],
    [
      "a body schema without a name",
      '"schema":{"$ref":"#/components/schemas/RegisterBody"}',
      '"schema":{"type":"object","properties":{}}',
    ],
    ["a schema name that is also made from an operation's id", '"Slot":{', '"RegisterResponse":{'],
    ["a schema name that differs in case only", '"Slot":{', '"FEATURE":{'],
    ["a schema name that is not used", '"schemas":{', '"schemas":{"Spare":{"type":"object"},'],
  ])("%s", async (_, original, planted) => {
    const text = JSON.stringify(await readDocument());
    expect([original, text.includes(original)]).toEqual([original, true]);
    expect(findBrokenRules(JSON.parse(text.replace(original, planted)) as JsonObject)).not.toEqual(
      [],
    );
  });

  test("one schema under two names", async () => {
    const document = structuredClone(await readDocument());
    const { schemas } = document["components"] as { schemas: Record<string, JsonObject> };
    const [first, second] = Object.keys(schemas);
    schemas[first ?? ""] = schemas[second ?? ""] ?? {};
    expect(findBrokenRules(document).join()).toContain("must not duplicate another schema");
  });
});

const CONTRACT: Readonly<Record<string, string>> = {
  "POST /api/v4/register": "register",
  "POST /api/v4/borrow": "borrow",
  "POST /api/v4/add_consumption": "addConsumption",
  "POST /api/v4/add_feature_consumption": "addFeatureConsumption",
  "POST /api/v4/airgap/license": "addAirgapLicense",
  "POST /api/v4/license/generate": "generateLicenseRequest",
  "GET /api/v4/setKeys": "setKeys",
};

test("the OpenAPI document lists the seven contract operations first, with ids and examples", async () => {
  const operations = readOperations(await readDocument());
  const contract = operations.filter(([, { tags }]) => tags.includes("contract"));
  expect(contract.map(([route, { operationId }]) => [route, operationId])).toEqual(
    Object.entries(CONTRACT),
  );
  expect(operations.filter(([route]) => route !== "POST /api/v4/setKeys").slice(0, 7)).toEqual(
    contract,
  );
  for (const [route, { requestBody, parameters }] of contract) {
    const bodyExample = requestBody?.content["application/json"].example;
    const example = bodyExample ?? parameters.find(({ example }) => example !== undefined);
    expect([route, example]).toEqual([route, expect.anything()]);
  }
});

test("the OpenAPI document gives every operation the plane and security that the gate enforces", async () => {
  const expectedSecurity = {
    open: [],
    client: [{}, { bearer: [] }],
    login: [{ basic: [] }],
    admin: [{ bearer: [] }],
  };
  for (const [route, operation] of listOperations(await readDocument())) {
    const [method = "", path = ""] = route.split(" ");
    const plane = routes.get(path)?.[method as Method] ?? "open";
    const { "x-plane": documentedPlane, security } = operation;
    expect([route, documentedPlane, security]).toEqual([route, plane, expectedSecurity[plane]]);
  }
});

test("the OpenAPI document marks exactly the fields as required that the server reports as missing", async () => {
  const site = sharedSite();
  let requiredCount = 0;
  const document = await readDocument();
  for (const [route, { requestBody }] of readOperations(document)) {
    if (requestBody === undefined || route.endsWith("/unregister/all")) continue;
    const { schema } = requestBody.content["application/json"];
    const { properties } = dereference(document, schema) as {
      readonly properties: Readonly<Record<string, JsonObject>>;
    };
    const requiredNames = Object.keys(properties).filter(
      (name) => properties[name]?.["x-required"],
    );
    const [method = "", path = ""] = route.split(" ");
    const [, body] = await site.send<Partial<RefusalBody>>(method, path, {
      body: "{}",
      headers: { "content-type": "application/json", "if-match": "*" },
    });
    const refusal = body.code === "missing_parameters" ? (body.message ?? "") : "";
    const reportedNames = Object.keys(properties).filter((name) =>
      refusal.split(/\W+/).includes(name),
    );
    expect([route, reportedNames.toSorted()]).toEqual([route, requiredNames.toSorted()]);
    requiredCount += requiredNames.length;
  }
  expect(requiredCount).toBeGreaterThan(20);
});

test("an empty query parameter is the same as none, as the OpenAPI document says", async () => {
  const site = sharedSite();
  const routesWithQuery = listOperations(await readDocument()).flatMap(([route, operation]) => {
    const parameters = operation["parameters"] as readonly Parameter[];
    const inQuery = parameters.filter((parameter) => parameter.in === "query");
    return inQuery.map((parameter) => ({ path: route.split(" ")[1] ?? "", parameter }));
  });
  for (const { path, parameter } of routesWithQuery) {
    expect([path, parameter]).toMatchObject([path, { allowEmptyValue: true }]);
    const [without] = await site.get(path);
    const [withEmpty] = await site.get(`${path}?${parameter.name}=`);
    expect([path, parameter.name, withEmpty.status]).toEqual([
      path,
      parameter.name,
      without.status,
    ]);
  }
  expect(routesWithQuery.length).toBeGreaterThan(40);
});

test("null is the same as no value in a body, as the OpenAPI document says", async () => {
  const document = await readDocument();
  let count = 0;
  for (const [route, { requestBody }] of readOperations(document)) {
    if (requestBody === undefined) continue;
    const { schema } = requestBody.content["application/json"];
    const { properties } = dereference(document, schema) as {
      readonly properties: Readonly<Record<string, JsonObject>>;
    };
    const nullable = Object.values(properties).map((field) => field["nullable"]);
    expect([route, nullable]).toEqual([route, nullable.map(() => true)]);
    const [method = "", path = ""] = route.split(" ");
    const send = (fields: object) =>
      sharedSite().send<Partial<RefusalBody>>(method, path, {
        body: JSON.stringify(fields),
        headers: { "content-type": "application/json", "if-match": "*" },
      });
    const [, without] = await send({});
    if (without.code !== "missing_parameters") continue;
    const nulls = Object.fromEntries(Object.keys(properties).map((name) => [name, null]));
    const [, withNulls] = await send(nulls);
    expect([route, withNulls.code, withNulls.message]).toEqual([
      route,
      without.code,
      without.message,
    ]);
    count += 1;
  }
  expect(count).toBeGreaterThan(10);
});

test("every documented refusal has an example message without undefined values", async () => {
  const document = await readDocument();
  const common = {
    responses: (document["components"] as { responses: OperationObject["responses"] }).responses,
  };
  let messageCount = 0;
  for (const { responses } of [
    ...readOperations(document).map(([, operation]) => operation),
    common,
  ]) {
    for (const [status, { content }] of Object.entries(responses)) {
      const samples = Object.entries(content?.["application/json"]?.examples ?? {});
      for (const [code, { value }] of samples) {
        expect(value.code).toBe(code);
        if (/^\d/.test(status)) expect(value.status).toBe(Number(status));
        expect(value.message).toMatch(/^\S.{8,}\S$/);
        expect(value.message).not.toMatch(/undefined|null|NaN|Invalid|\[object| {2}/);
        messageCount += 1;
      }
    }
  }
  expect(messageCount).toBeGreaterThan(100);
});

test("the OpenAPI document marks every operation with a destructive effect", async () => {
  const operations = listOperations(await readDocument());
  const destructive = operations.filter(([, operation]) => "x-destructive-effect" in operation);
  const destructiveRoutes = destructive.map(([route]) => route);
  const expectedRoutes = operations
    .map(([route]) => route)
    .filter((route) => /\/(?:all|remove|revoke|move)$/.test(route));
  expect(expectedRoutes.length).toBeGreaterThan(7);
  expect(destructiveRoutes).toEqual(expect.arrayContaining(expectedRoutes));
});

test("every reply with a license refers to the one schema License", async () => {
  const document = await readDocument();
  const successText = (route: string): string => {
    const [, operation] = listOperations(document).find(([other]) => other === route) ?? [];
    return JSON.stringify((operation as { responses: JsonObject } | undefined)?.responses["200"]);
  };
  for (const route of [
    "GET /api/v4/license",
    "POST /api/v4/airgap/license",
    "GET /api/admin/v1/licenses",
  ]) {
    expect([route, successText(route)]).toEqual([
      route,
      expect.stringContaining('{"$ref":"#/components/schemas/License"}'),
    ]);
  }
});
