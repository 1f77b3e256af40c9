import { expect, test } from "bun:test";
import type { Operation, RequestField } from "../../../src/web/docs/document.ts";
import {
  jsonBodyOf,
  exampleValues,
  buildRequest,
  type RequestFormState,
} from "../../../src/web/docs/outgoing-request.ts";

const field = (name: string, more: Partial<RequestField> = {}): RequestField => ({
  name,
  location: "body",
  description: "",
  type: "string",
  isRequired: false,
  maxBytes: null,
  example: "",
  isTime: false,
  ...more,
});

const operation = (more: Partial<Operation> = {}): Operation => ({
  id: "post-api-v4-borrow",
  group: "contract",
  method: "POST",
  path: "/api/v4/borrow",
  summary: "",
  description: "",
  plane: "client",
  destructionWarning: null,
  fields: [
    field("user", { example: "ada" }),
    field("user_info"),
    field("borrowed_until", { example: "2020-01-01T00:00:00Z", isTime: true }),
    field("X-Nonce", { location: "header" }),
  ],
  hasBody: true,
  canUploadFile: false,
  replies: [],
  refusals: [],
  ...more,
});

const formState = (more: Partial<RequestFormState> = {}): RequestFormState => ({
  values: {},
  mode: "fields",
  body: "",
  file: null,
  ...more,
});

const NOW = Date.parse("2026-03-01T12:34:56Z");

test("exampleValues takes the examples of the document and a time in the future", () => {
  expect(exampleValues(operation(), NOW)).toEqual({
    user: "ada",
    user_info: "",
    borrowed_until: "2026-03-08T12:00:00Z",
    "X-Nonce": "",
  });
});

test("exampleValues leaves a time empty that has no example", () => {
  const { fields } = operation();
  const without = operation({ fields: fields.map((original) => ({ ...original, example: "" })) });
  expect(exampleValues(without, NOW)["borrowed_until"]).toBe("");
});

test("buildRequest leaves out empty fields and sends header fields as headers", () => {
  const values = { user: `o'"\\ 名`, user_info: "", "X-Nonce": "0123456789abcdef" };
  expect(buildRequest(operation(), formState({ values }))).toEqual({
    method: "POST",
    path: "/api/v4/borrow",
    headers: {
      Accept: "application/json",
      "Content-Type": "application/json",
      "X-Nonce": "0123456789abcdef",
    },
    body: `{"user":"o'\\"\\\\ 名"}`,
  });
});

test("jsonBodyOf treats __proto__ as an ordinary field name", () => {
  const odd = operation({ fields: [field("__proto__")] });
  expect(jsonBodyOf(odd, JSON.parse('{"__proto__":"x"}') as RequestFormState["values"])).toBe(
    '{"__proto__":"x"}',
  );
});

test("buildRequest writes query fields into the address, without a body", () => {
  const get = operation({
    method: "GET",
    path: "/api/v4/setKeys",
    hasBody: false,
    fields: [field("apiKey", { location: "query" }), field("sharedKey", { location: "query" })],
  });
  const { path, body, headers } = buildRequest(get, formState({ values: { apiKey: "a&b=c d" } }));
  expect(path).toBe("/api/v4/setKeys?apiKey=a%26b%3Dc+d");
  expect(body).toBeNull();
  expect(headers).toEqual({ Accept: "application/json" });
  expect(buildRequest(get, formState()).path).toBe("/api/v4/setKeys");
});

test("buildRequest sends a body written by hand unchanged, even invalid JSON", () => {
  const json = buildRequest(operation(), formState({ mode: "json", body: '{"user":' }));
  expect([json.body, json.headers["Content-Type"]]).toEqual(['{"user":', "application/json"]);
  const text = buildRequest(
    operation({ canUploadFile: true }),
    formState({ mode: "text", body: "eyJ" }),
  );
  expect([text.body, text.headers["Content-Type"]]).toEqual(["eyJ", "text/plain"]);
});

test("buildRequest sends a file as a file and leaves the content type to the browser", () => {
  const file = new File(["eyJ"], "answer.jwt");
  const request = buildRequest(
    operation({ canUploadFile: true }),
    formState({ mode: "file", file }),
  );
  expect(request.body).toBe(file);
  expect(request.headers).toEqual({ Accept: "application/json" });
});
