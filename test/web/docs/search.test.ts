import { expect, test } from "bun:test";
import {
  commonRefusals,
  operationsIn,
  type OpenApiDocument,
} from "../../../src/web/docs/document.ts";
import { searchOperations } from "../../../src/web/docs/search.ts";
import { openAppliance } from "../../support/appliance.ts";

const fetchDocument = async (): Promise<OpenApiDocument> =>
  (await (await openAppliance()).get<OpenApiDocument>("/api/v4/openapi.json"))[1];

test("operationsIn gives every operation of the document a unique address", async () => {
  const document = await fetchDocument();
  const operations = operationsIn(document);
  const listed = Object.values(document.paths).flatMap((methods) => Object.keys(methods));
  expect(operations.length).toBe(listed.length);
  const ids = operations.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toContain("post-api-v4-register");
  expect(ids).toContain("get-api-v4-setKeys");
  for (const id of ids) expect(id).toMatch(/^(?:get|post|put)-[\w-]*$/);
});

test("operationsIn reads group, plane, fields and refusals of an operation", async () => {
  const document = await fetchDocument();
  const borrow = operationsIn(document).find(({ path }) => path === "/api/v4/borrow");
  expect(borrow?.group).toBe("contract");
  expect(borrow?.plane).toBe("client");
  const until = borrow?.fields.find(({ name }) => name === "borrowed_until");
  expect([until?.location, until?.isTime, until?.isRequired]).toEqual(["body", true, false]);
  const user = borrow?.fields.find(({ name }) => name === "user");
  expect([user?.isRequired, user?.maxBytes, user?.example]).toEqual([true, 256, "ada"]);
  expect(
    borrow?.fields.filter(({ location }) => location === "header").map(({ name }) => name),
  ).toEqual(["Idempotency-Key", "X-Nonce"]);
  expect(borrow?.refusals.map(({ code }) => code)).toContain("borrow_until_not_valid");
  expect(commonRefusals(document).map(({ code }) => code)).toContain("unauthorized");
});

test("operationsIn reads every kind of reply, also several of one media type", async () => {
  const operations = operationsIn(await fetchDocument());
  const repliesOf = (id: string) =>
    operations.find((operation) => operation.id === id)?.replies ?? [];
  const license = repliesOf("get-api-v4-license");
  expect(license.map(({ type, schema }) => [type, schema.type])).toEqual([
    ["application/json", "object"],
    ["application/json", "object"],
    ["application/jwt", "string"],
  ]);
  expect(Object.keys(license[0]?.schema.properties ?? {})).toContain("product_details");
  expect(Object.keys(license[1]?.schema.properties ?? {})).toContain("appliance_jwk");
  const types = repliesOf("post-api-v4-license-generate").map(({ type }) => type);
  expect(types).toEqual(["application/json", "text/plain"]);
  expect(repliesOf("post-api-v4-unregister-all")).toEqual([]);
});

test("searchOperations finds by path, field, error code and message in any case", async () => {
  const operations = operationsIn(await fetchDocument());
  const ids = (search: string): string[] =>
    searchOperations(operations, search).map(({ id }) => id);
  expect(ids("")).toHaveLength(operations.length);
  expect(ids("  BORROW  post ")).toContain("post-api-v4-borrow");
  expect(ids("confirmation_code")).toEqual(["post-api-v4-airgap-license"]);
  expect(ids("feature_not_floating")).toContain("post-api-v4-featureRegister");
  expect(ids("misread or mistyped")).toEqual(["post-api-v4-airgap-license"]);
  expect(ids("(.*")).toEqual([]);
});
