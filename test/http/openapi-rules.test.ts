import { describe, expect, test } from "bun:test";
import { routes, type Method } from "../../src/http/planes.ts";
import { openAppliance, type Appliance, type RefusalBody } from "../support/appliance.ts";
import {
  findBrokenRules,
  listOperations,
  dereference,
  type JsonObject,
} from "../support/openapi-rules.ts";

const documentOf = async (site: Appliance): Promise<JsonObject> =>
  (await site.get<JsonObject>("/api/v4/openapi.json"))[1];

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

const shownBy = (document: JsonObject): [string, OperationObject][] =>
  listOperations(document).map(([route, operation]) => [
    route,
    operation as unknown as OperationObject,
  ]);

test("the document breaks no rule", async () => {
  expect(findBrokenRules(await documentOf(await openAppliance()))).toEqual([]);
});

describe("a broken rule is found:", () => {
  test.each([
    ["another version", '"openapi":"3.0.3"', '"openapi":"3.1.0"'],
    ["another server", '"servers":[{"url":"/"}]', '"servers":[]'],
    ["an operation without an id", '"operationId":"borrow",', ""],
    ["an id twice", '"operationId":"borrow"', '"operationId":"register"'],
    ["an id in another case", '"operationId":"borrow"', '"operationId":"reGister"'],
    ["an id with underscores", '"operationId":"borrow"', '"operationId":"post_v4_borrow"'],
    ["a reference to nowhere", "#/components/schemas/Refusal", "#/components/schemas/None"],
    ["an unknown tag", '"tags":["contract"]', '"tags":["other"]'],
    ["an unknown scheme", '[{"bearer":[]}]', '[{"cookie":[]}]'],
    ["a keyword that OpenAPI does not have", '"x-max-bytes"', '"tolerates"'],
    ["a keyword of later versions", '"format":"date-time"', '"contentMediaType":"text/plain"'],
    ["a type that OpenAPI does not have", '"type":"integer"', '"type":"int"'],
    ["an integer of 32 bits", '"type":"integer","format":"int64"', '"type":"integer"'],
    ["an enum of numbers", '"enum":["activation","consumption"]', '"enum":[1,2]'],
    ["a required field that is not described", '"required":["product",', '"required":["gone",'],
    [
      "a response without words",
      '"description":"Success; changes are on disk"',
      '"description":""',
    ],
    ["a summary that is gone", '"summary":"Get server health"', '"summary":""'],
    [
      "a body without a name",
      '"schema":{"$ref":"#/components/schemas/RegisterBody"}',
      '"schema":{"type":"object","properties":{}}',
    ],
    ["a name that an operation's id makes too", '"Slot":{', '"RegisterResponse":{'],
    ["a name in another case", '"Slot":{', '"FEATURE":{'],
    ["a name that is not used", '"schemas":{', '"schemas":{"Spare":{"type":"object"},'],
  ])("%s", async (_, found, planted) => {
    const text = JSON.stringify(await documentOf(await openAppliance()));
    expect([found, text.includes(found)]).toEqual([found, true]);
    expect(findBrokenRules(JSON.parse(text.replace(found, planted)) as JsonObject)).not.toEqual([]);
  });

  test("one shape under two names", async () => {
    const document = await documentOf(await openAppliance());
    const { schemas } = document["components"] as { schemas: Record<string, JsonObject> };
    const [first, second] = Object.keys(schemas);
    schemas[first ?? ""] = schemas[second ?? ""] ?? {};
    expect(findBrokenRules(document).join()).toContain("is the only name of what it describes");
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

test("the seven operations come first, each with its own id and an example", async () => {
  const shown = shownBy(await documentOf(await openAppliance()));
  const contract = shown.filter(([, { tags }]) => tags.includes("contract"));
  expect(contract.map(([route, { operationId }]) => [route, operationId])).toEqual(
    Object.entries(CONTRACT),
  );
  expect(shown.filter(([route]) => route !== "POST /api/v4/setKeys").slice(0, 7)).toEqual(contract);
  for (const [route, { requestBody, parameters }] of contract) {
    const bodied = requestBody?.content["application/json"].example;
    const example = bodied ?? parameters.find(({ example }) => example !== undefined);
    expect([route, example]).toEqual([route, expect.anything()]);
  }
});

test("who may call is what the gate goes by", async () => {
  const wanted = {
    open: [],
    client: [{}, { bearer: [] }],
    login: [{ basic: [] }],
    admin: [{ bearer: [] }],
  };
  for (const [route, operation] of listOperations(await documentOf(await openAppliance()))) {
    const [method = "", path = ""] = route.split(" ");
    const plane = routes.get(path)?.[method as Method] ?? "open";
    const { "x-plane": said, security } = operation;
    expect([route, said, security]).toEqual([route, plane, wanted[plane]]);
  }
});

test("what is marked as needed is what the server misses, and nothing else", async () => {
  const site = await openAppliance();
  let judged = 0;
  const document = await documentOf(site);
  for (const [route, { requestBody }] of shownBy(document)) {
    if (requestBody === undefined || route.endsWith("/unregister/all")) continue;
    const { schema } = requestBody.content["application/json"];
    const { properties } = dereference(document, schema) as {
      readonly properties: Readonly<Record<string, JsonObject>>;
    };
    const needed = Object.keys(properties).filter((name) => properties[name]?.["x-required"]);
    const [, body] = await site.post<Partial<RefusalBody>>(route.slice("POST ".length), {});
    const missed = body.code === "missing_parameters" ? (body.message ?? "") : "";
    const named = Object.keys(properties).filter((name) => missed.split(/\W+/).includes(name));
    expect([route, named.toSorted()]).toEqual([route, needed.toSorted()]);
    judged += needed.length;
  }
  expect(judged).toBeGreaterThan(20);
});

test("every refusal that is documented has its sentence, with facts in it", async () => {
  const document = await documentOf(await openAppliance());
  const common = {
    responses: (document["components"] as { responses: OperationObject["responses"] }).responses,
  };
  let sentences = 0;
  for (const { responses } of [...shownBy(document).map(([, one]) => one), common]) {
    for (const [status, { content }] of Object.entries(responses)) {
      const samples = Object.entries(content?.["application/json"]?.examples ?? {});
      for (const [code, { value }] of samples) {
        expect(value.code).toBe(code);
        if (/^\d/.test(status)) expect(value.status).toBe(Number(status));
        expect(value.message).toMatch(/^\S.{8,}\S$/);
        expect(value.message).not.toMatch(/undefined|null|NaN|Invalid|\[object| {2}/);
        sentences += 1;
      }
    }
  }
  expect(sentences).toBeGreaterThan(100);
});

test("what destroys says so, by whatever method", async () => {
  const operations = listOperations(await documentOf(await openAppliance()));
  const destroying = operations.filter(([, operation]) => "x-destructive-effect" in operation);
  const routesOf = destroying.map(([route]) => route);
  const named = operations
    .map(([route]) => route)
    .filter((route) => /\/(?:all|remove|revoke|move)$/.test(route));
  expect(named.length).toBeGreaterThan(7);
  expect(routesOf).toEqual(expect.arrayContaining(named));
});

test("one license object has one name, wherever it is returned", async () => {
  const document = await documentOf(await openAppliance());
  const text = (route: string): string => {
    const [, operation] = listOperations(document).find(([one]) => one === route) ?? [];
    return JSON.stringify((operation as { responses: JsonObject } | undefined)?.responses["200"]);
  };
  for (const route of [
    "GET /api/v4/license",
    "POST /api/v4/airgap/license",
    "GET /api/admin/v1/licenses",
  ]) {
    expect([route, text(route)]).toEqual([
      route,
      expect.stringContaining('{"$ref":"#/components/schemas/License"}'),
    ]);
  }
});
