// The rules that the document must keep: those of OpenAPI 3.0, and those that generators of clients
// need besides. Each broken rule is listed with its place.
import { isDeepStrictEqual } from "node:util";

export type Part = Readonly<Record<string, unknown>>;

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

export function brokenRules(document: Part): string[] {
  const broken: string[] = [];
  const must = (holds: boolean, place: string, rule: string): void => {
    if (!holds) broken.push(`${place}: ${rule}`);
  };
  must(/^3\.0\.\d+$/.test(String(document["openapi"])), "openapi", "is a version 3.0");
  const servers = JSON.stringify(document["servers"]);
  must(servers === '[{"url":"/"}]', "servers", "are the one that the document came from");
  const info = part(document["info"]);
  must(isText(info["title"]) && isText(info["version"]), "info", "has a title and a version");
  const license = part(info["license"]);
  must(isText(license["name"]), "info.license", "has a name");
  must(!("identifier" in license), "info.license", "has no identifier, which came with 3.1");
  const components = part(document["components"]);
  const schemes = part(components["securitySchemes"]);
  for (const [name, scheme] of Object.entries(schemes)) {
    const { type, scheme: kind } = part(scheme) as { type?: unknown; scheme?: unknown };
    must(type === "http" && isText(kind), `securitySchemes.${name}`, "is an http scheme");
  }
  const tags = (document["tags"] as readonly Part[]).map(({ name }) => name);
  must(new Set(tags).size === tags.length, "tags", "each is there once");

  const ids = new Set<string>();
  for (const [route, operation] of operationsIn(document)) {
    must(/^(?:GET|POST) \/[^{}?#]*$/.test(route), route, "is a method and a path without a query");
    const { operationId, summary } = operation;
    const id = typeof operationId === "string" ? operationId : "";
    must(
      /^[a-z]+(?:[A-Z][a-z]+)*$/.test(id) && id.length <= 30,
      route,
      "has a short verb as its id",
    );
    must(!ids.has(folded(id)), route, "has an id of its own, whatever the case and underscores");
    ids.add(folded(id));
    must(isText(summary), route, "has a summary");
    for (const tag of list(operation["tags"])) must(tags.includes(tag), route, "uses known tags");
    for (const need of list(operation["security"])) {
      const known = Object.keys(part(need)).every((name) => name in schemes);
      must(known, route, "uses known security schemes");
    }
    checkParameters(route, list(operation["parameters"]), must);
    if ("requestBody" in operation) {
      must(route.startsWith("POST "), route, "has a body only where a body means something");
      checkContents(`${route} body`, part(operation["requestBody"]), must);
      checkBody(document, `${route} body`, part(operation["requestBody"]), must);
    }
    const responses = Object.entries(part(operation["responses"]));
    must(responses.length > 0, route, "has responses");
    for (const [status, response] of responses) {
      must(/^(?:[1-5]\d\d|default)$/.test(status), route, "names responses by status");
      const place = `${route} ${status}`;
      const followed = part(resolved(document, response));
      checkResponse(place, followed, must);
      if (status === "200") checkReply(place, followed, must);
      else must(isRefusal(followed), place, "has Refusal as its body, and nothing else");
    }
  }
  for (const [name, response] of Object.entries(part(components["responses"]))) {
    checkResponse(`responses.${name}`, part(response), must);
  }
  checkNames(document, ids, must);
  return broken;
}

/** Generators write both into one set of names, in the case of their language. */
const folded = (name: string): string => name.replaceAll("_", "").toLowerCase();

/** What generators for Go and Python make of an operation's id. */
const DERIVED = ["", "params", "response", "request", "jsonbody", "jsonrequestbody"];

function checkNames(document: Part, ids: ReadonlySet<string>, must: Must): void {
  const components = part(document["components"]);
  const derived = new Set([...ids].flatMap((id) => DERIVED.map((end) => id + end)));
  const seen = new Set<string>();
  const names = ["schemas", "responses"].flatMap((kind) => Object.keys(part(components[kind])));
  for (const name of names) {
    must(/^(?:[A-Z][a-z]*)+$/.test(name), name, "is a name in capitals");
    must(!seen.has(folded(name)), name, "names one thing, whatever the case");
    must(!derived.has(folded(name)), name, "is no name that is made of an operation's id");
    seen.add(folded(name));
  }
  const references = referencesIn(document);
  for (const reference of references) {
    must(resolve(document, reference) !== undefined, reference, "leads somewhere");
  }
  const schemas = Object.entries(part(components["schemas"]));
  for (const [name, schema] of schemas) {
    checkSchema(`schemas.${name}`, schema, must);
    must(references.includes(`#/components/schemas/${name}`), name, "is used");
    const same = schemas.filter(([, other]) => isDeepStrictEqual(other, schema));
    must(same.length === 1, name, "is the only name of what it describes");
  }
  const inline = objectsIn({ ...document, components: { ...components, schemas: {} } }).concat(
    schemas.flatMap(([, schema]) => Object.values(part(schema)).flatMap(objectsIn)),
  );
  for (const [index, one] of inline.entries()) {
    const isTwice = inline.some((other, at) => at > index && isDeepStrictEqual(other, one));
    const what = Object.keys(part(one["properties"])).join(", ");
    must(!isTwice, `{${what}}`, "has a name where it stands in two places");
  }
}

/** Every schema of an object with fields, those within others too. */
function objectsIn(value: unknown): Part[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  const { type, properties } = part(value);
  return type === "object" && properties !== undefined ? [part(value), ...inner] : inner;
}

/** What is sent as JSON has a name, and its fields are explained. */
function checkBody(document: Part, place: string, body: Part, must: Must): void {
  const { schema, example } = part(part(body["content"])["application/json"]);
  must("$ref" in part(schema), place, "is named");
  const { properties } = part(resolved(document, schema));
  for (const [name, field] of Object.entries(part(properties))) {
    must(isText(part(field)["description"]), `${place} ${name}`, "says what it means");
  }
  for (const name of Object.keys(part(example))) {
    must(name in part(properties), `${place} ${name}`, "an example uses known fields");
  }
}

/** What is returned as JSON has a name, or is a list or a choice of what has one. */
function checkReply(place: string, response: Part, must: Must): void {
  for (const type of ["application/json", "application/x-ndjson"]) {
    const schema = part(part(part(response["content"])[type])["schema"]);
    if (Object.keys(schema).length === 0 || schema["format"] === "binary") continue;
    const parts = "anyOf" in schema ? list(schema["anyOf"]) : [schema["items"] ?? schema];
    const isNamed = parts.every((one) => "$ref" in part(one));
    must(isNamed, place, "is named");
  }
}

const REFUSED = { $ref: "#/components/schemas/Refusal" };

function isRefusal(response: Part): boolean {
  const contents = Object.entries(part(response["content"]));
  return (
    contents.length === 1 &&
    contents.every(
      ([type, content]) =>
        type === "application/json" && isDeepStrictEqual(part(content)["schema"], REFUSED),
    )
  );
}

/** What a reference leads to; anything else as it is. */
export const resolved = (document: Part, value: unknown): unknown => {
  const { $ref } = part(value);
  return typeof $ref === "string" ? resolve(document, $ref) : value;
};

type Must = (holds: boolean, place: string, rule: string) => void;

/** Every operation under its method and path, in the order of the document. */
export const operationsIn = (document: Part): [route: string, operation: Part][] =>
  Object.entries(part(document["paths"])).flatMap(([path, methods]) =>
    Object.entries(part(methods)).map(([method, operation]): [string, Part] => [
      `${method.toUpperCase()} ${path}`,
      part(operation),
    ]),
  );

function checkParameters(route: string, parameters: readonly unknown[], must: Must): void {
  const seen = new Set<string>();
  for (const parameter of parameters.map(part)) {
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

function checkResponse(place: string, response: Part, must: Must): void {
  must(isText(response["description"]), place, "has a description");
  checkContents(place, response, must);
}

function checkContents(place: string, holder: Part, must: Must): void {
  for (const [type, content] of Object.entries(part(holder["content"]))) {
    const { schema, example, examples } = part(content);
    must(/^[a-z]+\/[a-z-]+$/.test(type), place, "has contents by media type");
    must(!(example !== undefined && examples !== undefined), place, "has an example or examples");
    checkSchema(`${place} ${type}`, schema, must);
  }
}

function checkSchema(place: string, schema: unknown, must: Must): void {
  must(typeof schema === "object" && schema !== null, place, "has a schema");
  const { $ref, type, format, nullable, enum: values, properties } = part(schema);
  const keywords = Object.keys(part(schema));
  if ($ref !== undefined) must(keywords.length === 1, place, "has nothing beside a reference");
  if (type !== undefined) must(TYPES.has(type as string), place, "has a type of OpenAPI 3.0");
  must(type !== "integer" || format === "int64", place, "has integers of 64 bits");
  must(type !== "array" || keywords.includes("items"), place, "says what an array holds");
  must(nullable === undefined || nullable === true, place, "says nullable only where it is");
  const hasKind = type !== undefined || keywords.includes("allOf") || keywords.includes("anyOf");
  must(nullable === undefined || hasKind, place, "says nullable beside a type");
  if (values !== undefined) {
    const isWords = list(values).length > 0 && list(values).every(isText);
    must(type === "string" && isWords, place, "has words as the values of an enum");
    must(new Set(list(values)).size === list(values).length, place, "has each value once");
  }
  for (const [keyword, value] of Object.entries(part(schema))) {
    const known = KEYWORDS.has(keyword) || keyword.startsWith("x-");
    must(known, `${place} ${keyword}`, "is a keyword of OpenAPI 3.0 that generators know");
    if (keyword === "required") {
      for (const name of list(value)) {
        must(String(name) in part(properties), place, "requires what it describes");
      }
    }
    if (keyword === "properties") {
      for (const [name, inner] of Object.entries(part(value))) {
        checkSchema(`${place}.${name}`, inner, must);
      }
    }
    if (keyword === "items" || keyword === "additionalProperties") {
      checkSchema(`${place}[]`, value, must);
    }
    if (keyword === "anyOf") {
      must(list(value).length > 1, place, "chooses between several");
      const isEnum = list(value).every((one) => "enum" in part(one));
      must(!isEnum, place, "has one enum instead of a choice of words");
    }
    if (keyword === "allOf") must(list(value).length === 1, place, "wraps one reference");
    if (keyword === "anyOf" || keyword === "allOf") {
      for (const inner of list(value)) checkSchema(place, inner, must);
    }
  }
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "$ref" ? [String(inner)] : referencesIn(inner),
  );
}

const resolve = (document: Part, reference: string): unknown =>
  reference
    .replace(/^#\//, "")
    .split("/")
    .reduce<unknown>((at, name) => part(at)[name], document);

const part = (value: unknown): Part =>
  typeof value === "object" && value !== null ? (value as Part) : {};

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
