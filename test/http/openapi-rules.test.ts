import { describe, expect, test } from "bun:test";
import { routes, type Method } from "../../src/http/planes.ts";
import { openAppliance, type Appliance, type Refused } from "../support/api.ts";
import { brokenRules, operationsIn, type Part } from "../support/openapi-rules.ts";

const documentOf = async (site: Appliance): Promise<Part> =>
  (await site.get<Part>("/api/v4/openapi.json"))[1];

interface Shown {
  readonly tags: readonly string[];
  readonly security: readonly object[];
  readonly parameters: readonly { readonly "x-needed"?: true; readonly example?: string }[];
  readonly requestBody?: {
    readonly content: {
      readonly "application/json": {
        readonly schema: { readonly properties: Readonly<Record<string, Part>> };
        readonly example?: Part;
      };
    };
  };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly examples?: Samples }>> }>
  >;
}

type Samples = Readonly<Record<string, { readonly value: Refused }>>;

const shownBy = (document: Part): [string, Shown][] =>
  operationsIn(document).map(([route, operation]) => [route, operation as unknown as Shown]);

test("the document breaks no rule", async () => {
  expect(brokenRules(await documentOf(await openAppliance()))).toEqual([]);
});

describe("a rule that is broken is found", () => {
  const REGISTER = '"operationId":"post_v4_register"';
  test.each([
    ["another version", '"openapi":"3.1.0"', '"openapi":"3.0.3"'],
    ["an id twice", '"operationId":"post_v4_borrow"', REGISTER],
    ["a reference to nowhere", "#/components/schemas/Refused", "#/components/schemas/None"],
    ["an unknown tag", '"tags":["contract"]', '"tags":["other"]'],
    ["an unknown scheme", '[{"bearer":[]}]', '[{"cookie":[]}]'],
    ["a keyword of nobody's", '"x-max-bytes"', '"tolerates"'],
    ["a type of nobody's", '"type":"integer"', '"type":"int"'],
    ["a reply that requires the unknown", '"required":["product",', '"required":["gone",'],
    ["a response without words", '"description":"Done, and on disk"', '"description":""'],
    ["a summary that is gone", '"summary":"Is it ready?"', '"summary":""'],
  ])("%s", async (_, found, planted) => {
    const text = JSON.stringify(await documentOf(await openAppliance()));
    expect(text).toContain(found);
    expect(brokenRules(JSON.parse(text.replace(found, planted)) as Part)).not.toEqual([]);
  });
});

const CONTRACT = [
  "POST /api/v4/register",
  "POST /api/v4/borrow",
  "POST /api/v4/add_consumption",
  "POST /api/v4/add_feature_consumption",
  "POST /api/v4/airgap/license",
  "POST /api/v4/license/generate",
  "GET /api/v4/setKeys",
];

test("the seven operations come first, each with an example", async () => {
  const shown = shownBy(await documentOf(await openAppliance()));
  const contract = shown.filter(([, { tags }]) => tags.includes("contract"));
  expect(contract.map(([route]) => route)).toEqual(CONTRACT);
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
  for (const [route, operation] of operationsIn(await documentOf(await openAppliance()))) {
    const [method = "", path = ""] = route.split(" ");
    const plane = routes.get(path)?.[method as Method] ?? "open";
    const { "x-plane": said, security } = operation;
    expect([route, said, security]).toEqual([route, plane, wanted[plane]]);
  }
});

test("what is marked as needed is what the server misses, and nothing else", async () => {
  const site = await openAppliance();
  let judged = 0;
  for (const [route, { requestBody }] of shownBy(await documentOf(site))) {
    if (requestBody === undefined || route.endsWith("/unregister/all")) continue;
    const { properties } = requestBody.content["application/json"].schema;
    const needed = Object.keys(properties).filter((name) => properties[name]?.["x-needed"]);
    const [, body] = await site.post<Partial<Refused>>(route.slice("POST ".length), {});
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
    responses: (document["components"] as { responses: Shown["responses"] }).responses,
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
  const operations = operationsIn(await documentOf(await openAppliance()));
  const destroying = operations.filter(([, operation]) => "x-destroys" in operation);
  const routesOf = destroying.map(([route]) => route);
  const named = operations
    .map(([route]) => route)
    .filter((route) => /\/(?:all|remove|revoke|move)$/.test(route));
  expect(named.length).toBeGreaterThan(7);
  expect(routesOf).toEqual(expect.arrayContaining(named));
});
