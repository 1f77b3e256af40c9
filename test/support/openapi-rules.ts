// The rules that the document must keep: those of OpenAPI 3.0, and those that generators of clients
// need besides. Each broken rule is listed with its place.
import { isDeepStrictEqual } from "node:util";

export type JsonObject = Readonly<Record<string, unknown>>;

const TYPES = new Set(["string", "integer", "number", "boolean", "object", "array"]);
const KEYWORDS = new Set([
  "type",
  "description",
  "properties",
  "additionalProperties",
  "required",
  "items",
  "anyOf",
  "allOf",
  "enum",
  "nullable",
  "format",
  "pattern",
  "$ref",
]);

export function findBrokenRules(document: JsonObject): string[] {
  const broken: string[] = [];
  const must = (holds: boolean, place: string, rule: string): void => {
    if (!holds) broken.push(`${place}: ${rule}`);
  };
  must(/^3\.0\.\d+$/.test(String(document["openapi"])), "openapi", "is a version 3.0");
  const servers = JSON.stringify(document["servers"]);
  must(servers === '[{"url":"/"}]', "servers", "are the one that the document came from");
  const info = asObject(document["info"]);
  must(isText(info["title"]) && isText(info["version"]), "info", "has a title and a version");
  const license = asObject(info["license"]);
  must(isText(license["name"]), "info.license", "has a name");
  must(!("identifier" in license), "info.license", "has no identifier, which came with 3.1");
  const components = asObject(document["components"]);
  const schemes = asObject(components["securitySchemes"]);
  for (const [name, scheme] of Object.entries(schemes)) {
    const { type, scheme: kind } = asObject(scheme) as { type?: unknown; scheme?: unknown };
    must(type === "http" && isText(kind), `securitySchemes.${name}`, "is an http scheme");
  }
  const tags = (document["tags"] as readonly JsonObject[]).map(({ name }) => name);
  must(new Set(tags).size === tags.length, "tags", "each is there once");

  const ids = new Set<string>();
  for (const [route, operation] of listOperations(document)) {
    must(/^(?:GET|POST) \/[^{}?#]*$/.test(route), route, "is a method and a path without a query");
    const { operationId, summary } = operation;
    const id = typeof operationId === "string" ? operationId : "";
    must(
      /^[a-z]+(?:[A-Z][a-z]+)*$/.test(id) && id.length <= 30,
      route,
      "has a short verb as its id",
    );
    must(!ids.has(foldName(id)), route, "has an id of its own, whatever the case and underscores");
    ids.add(foldName(id));
    must(isText(summary), route, "has a summary");
    for (const tag of asArray(operation["tags"]))
      must(tags.includes(tag), route, "uses known tags");
    for (const need of asArray(operation["security"])) {
      const known = Object.keys(asObject(need)).every((name) => name in schemes);
      must(known, route, "uses known security schemes");
    }
    checkParameters(route, asArray(operation["parameters"]), must);
    if ("requestBody" in operation) {
      must(route.startsWith("POST "), route, "has a body only where a body means something");
      checkContents(`${route} body`, asObject(operation["requestBody"]), must);
      checkBody(document, `${route} body`, asObject(operation["requestBody"]), must);
    }
    const responses = Object.entries(asObject(operation["responses"]));
    must(responses.length > 0, route, "has responses");
    for (const [status, response] of responses) {
      must(/^(?:[1-5]\d\d|default)$/.test(status), route, "names responses by status");
      const place = `${route} ${status}`;
      const followed = asObject(dereference(document, response));
      checkResponse(place, followed, must);
      if (status === "200") checkReply(place, followed, must);
      else must(isRefusal(followed), place, "has Refusal as its body, and nothing else");
    }
  }
  for (const [name, response] of Object.entries(asObject(components["responses"]))) {
    checkResponse(`responses.${name}`, asObject(response), must);
  }
  checkNames(document, ids, must);
  return broken;
}

/** Generators write both into one set of names, in the case of their language. */
const foldName = (name: string): string => name.replaceAll("_", "").toLowerCase();

/** What generators for Go and Python make of an operation's id. */
const GENERATED_SUFFIXES = ["", "params", "response", "request", "jsonbody", "jsonrequestbody"];

function checkNames(document: JsonObject, ids: ReadonlySet<string>, must: RequireRule): void {
  const components = asObject(document["components"]);
  const derived = new Set([...ids].flatMap((id) => GENERATED_SUFFIXES.map((end) => id + end)));
  const seen = new Set<string>();
  const names = ["schemas", "responses"].flatMap((kind) => Object.keys(asObject(components[kind])));
  for (const name of names) {
    must(/^(?:[A-Z][a-z]*)+$/.test(name), name, "is a name in capitals");
    must(!seen.has(foldName(name)), name, "names one thing, whatever the case");
    must(!derived.has(foldName(name)), name, "is no name that is made of an operation's id");
    seen.add(foldName(name));
  }
  const references = listReferences(document);
  for (const reference of references) {
    must(resolveReference(document, reference) !== undefined, reference, "leads somewhere");
  }
  const schemas = Object.entries(asObject(components["schemas"]));
  for (const [name, schema] of schemas) {
    checkSchema(`schemas.${name}`, schema, must);
    must(references.includes(`#/components/schemas/${name}`), name, "is used");
    const same = schemas.filter(([, other]) => isDeepStrictEqual(other, schema));
    must(same.length === 1, name, "is the only name of what it describes");
  }
  const inline = listObjectSchemas({
    ...document,
    components: { ...components, schemas: {} },
  }).concat(
    schemas.flatMap(([, schema]) => Object.values(asObject(schema)).flatMap(listObjectSchemas)),
  );
  for (const [index, one] of inline.entries()) {
    const isTwice = inline.some((other, at) => at > index && isDeepStrictEqual(other, one));
    const what = Object.keys(asObject(one["properties"])).join(", ");
    must(!isTwice, `{${what}}`, "has a name where it stands in two places");
  }
}

/** Every schema of an object with fields, those within others too. */
function listObjectSchemas(value: unknown): JsonObject[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(listObjectSchemas);
  const { type, properties } = asObject(value);
  return type === "object" && properties !== undefined ? [asObject(value), ...inner] : inner;
}

/** What is sent as JSON has a name, and its fields are explained. */
function checkBody(document: JsonObject, place: string, body: JsonObject, must: RequireRule): void {
  const { schema, example } = asObject(asObject(body["content"])["application/json"]);
  must("$ref" in asObject(schema), place, "is named");
  const { properties } = asObject(dereference(document, schema));
  for (const [name, field] of Object.entries(asObject(properties))) {
    must(isText(asObject(field)["description"]), `${place} ${name}`, "says what it means");
  }
  for (const name of Object.keys(asObject(example))) {
    must(name in asObject(properties), `${place} ${name}`, "an example uses known fields");
  }
}

/** What is returned as JSON has a name, or is a list or a choice of what has one. */
function checkReply(place: string, response: JsonObject, must: RequireRule): void {
  for (const type of ["application/json", "application/x-ndjson"]) {
    const schema = asObject(asObject(asObject(response["content"])[type])["schema"]);
    if (Object.keys(schema).length === 0 || schema["format"] === "binary") continue;
    const parts = "anyOf" in schema ? asArray(schema["anyOf"]) : [schema["items"] ?? schema];
    const isNamed = parts.every((one) => "$ref" in asObject(one));
    must(isNamed, place, "is named");
  }
}

const REFUSED = { $ref: "#/components/schemas/Refusal" };

function isRefusal(response: JsonObject): boolean {
  const contents = Object.entries(asObject(response["content"]));
  return (
    contents.length === 1 &&
    contents.every(
      ([type, content]) =>
        type === "application/json" && isDeepStrictEqual(asObject(content)["schema"], REFUSED),
    )
  );
}

/** What a reference leads to; anything else as it is. */
export const dereference = (document: JsonObject, value: unknown): unknown => {
  const { $ref } = asObject(value);
  return typeof $ref === "string" ? resolveReference(document, $ref) : value;
};

type RequireRule = (holds: boolean, place: string, rule: string) => void;

/** Every operation under its method and path, in the order of the document. */
export const listOperations = (document: JsonObject): [route: string, operation: JsonObject][] =>
  Object.entries(asObject(document["paths"])).flatMap(([path, methods]) =>
    Object.entries(asObject(methods)).map(([method, operation]): [string, JsonObject] => [
      `${method.toUpperCase()} ${path}`,
      asObject(operation),
    ]),
  );

function checkParameters(route: string, parameters: readonly unknown[], must: RequireRule): void {
  const seen = new Set<string>();
  for (const parameter of parameters.map(asObject)) {
    const place = `${route} ${String(parameter["name"])}`;
    must(isText(parameter["name"]), place, "has a name");
    must(["query", "header"].includes(String(parameter["in"])), place, "has a place");
    must(isText(parameter["description"]), place, "says what it means");
    const key = `${String(parameter["in"])} ${String(parameter["name"])}`;
    must(!seen.has(key), place, "is there once");
    seen.add(key);
    checkSchema(place, parameter["schema"], must);
  }
}

function checkResponse(place: string, response: JsonObject, must: RequireRule): void {
  must(isText(response["description"]), place, "has a description");
  checkContents(place, response, must);
}

function checkContents(place: string, holder: JsonObject, must: RequireRule): void {
  for (const [type, content] of Object.entries(asObject(holder["content"]))) {
    const { schema, example, examples } = asObject(content);
    must(/^[a-z]+\/[a-z-]+$/.test(type), place, "has contents by media type");
    must(!(example !== undefined && examples !== undefined), place, "has an example or examples");
    checkSchema(`${place} ${type}`, schema, must);
  }
}

function checkSchema(place: string, schema: unknown, must: RequireRule): void {
  must(typeof schema === "object" && schema !== null, place, "has a schema");
  const { $ref, type, format, nullable, enum: values, properties } = asObject(schema);
  const keywords = Object.keys(asObject(schema));
  if ($ref !== undefined) must(keywords.length === 1, place, "has nothing beside a reference");
  if (type !== undefined) must(TYPES.has(type as string), place, "has a type of OpenAPI 3.0");
  must(type !== "integer" || format === "int64", place, "has integers of 64 bits");
  must(type !== "array" || keywords.includes("items"), place, "says what an array holds");
  must(nullable === undefined || nullable === true, place, "says nullable only where it is");
  const hasKind = type !== undefined || keywords.includes("allOf") || keywords.includes("anyOf");
  must(nullable === undefined || hasKind, place, "says nullable beside a type");
  if (values !== undefined) {
    const isWords = asArray(values).length > 0 && asArray(values).every(isText);
    must(type === "string" && isWords, place, "has words as the values of an enum");
    must(new Set(asArray(values)).size === asArray(values).length, place, "has each value once");
  }
  for (const [keyword, value] of Object.entries(asObject(schema))) {
    const known = KEYWORDS.has(keyword) || keyword.startsWith("x-");
    must(known, `${place} ${keyword}`, "is a keyword of OpenAPI 3.0 that generators know");
    if (keyword === "required") {
      for (const name of asArray(value)) {
        must(String(name) in asObject(properties), place, "requires what it describes");
      }
    }
    if (keyword === "properties") {
      for (const [name, inner] of Object.entries(asObject(value))) {
        checkSchema(`${place}.${name}`, inner, must);
      }
    }
    if (keyword === "items" || keyword === "additionalProperties") {
      checkSchema(`${place}[]`, value, must);
    }
    if (keyword === "anyOf") {
      must(asArray(value).length > 1, place, "chooses between several");
      const isEnum = asArray(value).every((one) => "enum" in asObject(one));
      must(!isEnum, place, "has one enum instead of a choice of words");
    }
    if (keyword === "allOf") must(asArray(value).length === 1, place, "wraps one reference");
    if (keyword === "anyOf" || keyword === "allOf") {
      for (const inner of asArray(value)) checkSchema(place, inner, must);
    }
  }
}

function listReferences(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "$ref" ? [String(inner)] : listReferences(inner),
  );
}

const resolveReference = (document: JsonObject, reference: string): unknown =>
  reference
    .replace(/^#\//, "")
    .split("/")
    .reduce<unknown>((at, name) => asObject(at)[name], document);

const asObject = (value: unknown): JsonObject =>
  typeof value === "object" && value !== null ? (value as JsonObject) : {};

const asArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
