// The rules for the OpenAPI document: those of OpenAPI 3.0, and those that client generators need
// in addition. Each broken rule is listed with its path.
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
  const must = (holds: boolean, path: string, rule: string): void => {
    if (!holds) broken.push(`${path}: ${rule}`);
  };
  must(/^3\.0\.\d+$/.test(String(document["openapi"])), "openapi", "must be version 3.0");
  const servers = JSON.stringify(document["servers"]);
  must(servers === '[{"url":"/"}]', "servers", "must contain only /");
  const info = asObject(document["info"]);
  must(isText(info["title"]) && isText(info["version"]), "info", "must have a title and a version");
  const license = asObject(info["license"]);
  must(isText(license["name"]), "info.license", "must have a name");
  must(isText(license["url"]), "info.license", "must have a URL");
  must(
    !("identifier" in license),
    "info.license",
    "must not have an identifier, which is of OpenAPI 3.1",
  );
  const components = asObject(document["components"]);
  const schemes = asObject(components["securitySchemes"]);
  for (const [name, scheme] of Object.entries(schemes)) {
    const { type, scheme: kind } = asObject(scheme) as { type?: unknown; scheme?: unknown };
    must(type === "http" && isText(kind), `securitySchemes.${name}`, "must be an http scheme");
  }
  const tags = (document["tags"] as readonly JsonObject[]).map(({ name }) => name);
  must(new Set(tags).size === tags.length, "tags", "must be unique");

  const ids = new Set<string>();
  for (const [route, operation] of listOperations(document)) {
    must(
      /^(?:GET|POST|PUT) \/[^{}?#]*$/.test(route),
      route,
      "must be a method and a path without a query",
    );
    const { operationId, summary } = operation;
    const id = typeof operationId === "string" ? operationId : "";
    must(
      /^[a-z]+(?:[A-Z][a-z]+)*$/.test(id) && id.length <= 30,
      route,
      "must have a short camelCase operationId",
    );
    must(
      !ids.has(foldName(id)),
      route,
      "must have a unique operationId, ignoring case and underscores",
    );
    ids.add(foldName(id));
    must(isText(summary), route, "must have a summary");
    for (const tag of asArray(operation["tags"]))
      must(tags.includes(tag), route, "must use declared tags");
    for (const requirement of asArray(operation["security"])) {
      const isDeclared = Object.keys(asObject(requirement)).every((name) => name in schemes);
      must(isDeclared, route, "must use declared security schemes");
    }
    checkParameters(route, asArray(operation["parameters"]), must);
    if ("requestBody" in operation) {
      must(/^(?:POST|PUT) /.test(route), route, "must be a POST or a PUT to have a body");
      checkContents(`${route} body`, asObject(operation["requestBody"]), must);
      checkBody(document, `${route} body`, asObject(operation["requestBody"]), must);
    }
    const responses = Object.entries(asObject(operation["responses"]));
    must(responses.length > 0, route, "must have responses");
    for (const [status, response] of responses) {
      must(/^(?:[1-5]\d\d|default)$/.test(status), route, "must name responses by status");
      const path = `${route} ${status}`;
      const resolved = asObject(dereference(document, response));
      checkResponse(path, resolved, must);
      if (status === "200") checkReply(path, resolved, must);
      else must(isRefusal(resolved), path, "must have Refusal as its only body");
    }
  }
  for (const [name, response] of Object.entries(asObject(components["responses"]))) {
    checkResponse(`responses.${name}`, asObject(response), must);
  }
  checkNames(document, ids, must);
  return broken;
}

/** Generators put all names into one namespace, in the case style of their language. */
const foldName = (name: string): string => name.replaceAll("_", "").toLowerCase();

/** Suffixes that generators for Go and Python append to an operation's id. */
const GENERATED_SUFFIXES = ["", "params", "response", "request", "jsonbody", "jsonrequestbody"];

function checkNames(document: JsonObject, ids: ReadonlySet<string>, must: RequireRule): void {
  const components = asObject(document["components"]);
  const generatedNames = new Set(
    [...ids].flatMap((id) => GENERATED_SUFFIXES.map((suffix) => id + suffix)),
  );
  const seen = new Set<string>();
  const names = ["schemas", "responses"].flatMap((kind) => Object.keys(asObject(components[kind])));
  for (const name of names) {
    must(/^(?:[A-Z][a-z]*)+$/.test(name), name, "must be a PascalCase name");
    must(!seen.has(foldName(name)), name, "must be unique, ignoring case");
    must(!generatedNames.has(foldName(name)), name, "must not be derived from an operation's id");
    seen.add(foldName(name));
  }
  const references = listReferences(document);
  for (const reference of references) {
    must(resolveReference(document, reference) !== undefined, reference, "must have a target");
  }
  const schemas = Object.entries(asObject(components["schemas"]));
  for (const [name, schema] of schemas) {
    checkSchema(`schemas.${name}`, schema, must);
    must(references.includes(`#/components/schemas/${name}`), name, "must be used");
    const same = schemas.filter(([, other]) => isDeepStrictEqual(other, schema));
    must(same.length === 1, name, "must not duplicate another schema");
  }
  const inline = listObjectSchemas({
    ...document,
    components: { ...components, schemas: {} },
  }).concat(
    schemas.flatMap(([, schema]) => Object.values(asObject(schema)).flatMap(listObjectSchemas)),
  );
  for (const [index, schema] of inline.entries()) {
    const isRepeated = inline.some((other, at) => at > index && isDeepStrictEqual(other, schema));
    const fields = Object.keys(asObject(schema["properties"])).join(", ");
    must(!isRepeated, `{${fields}}`, "must have a name if it is used twice");
  }
}

/** Every schema of an object with fields, including nested ones. */
function listObjectSchemas(value: unknown): JsonObject[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(listObjectSchemas);
  const { type, properties } = asObject(value);
  return type === "object" && properties !== undefined ? [asObject(value), ...inner] : inner;
}

/** A JSON request body must have a named schema and described fields. */
function checkBody(document: JsonObject, path: string, body: JsonObject, must: RequireRule): void {
  const { schema, example } = asObject(asObject(body["content"])["application/json"]);
  must("$ref" in asObject(schema), path, "must have a named schema");
  const { properties } = asObject(dereference(document, schema));
  for (const [name, field] of Object.entries(asObject(properties))) {
    must(isText(asObject(field)["description"]), `${path} ${name}`, "must have a description");
  }
  for (const name of Object.keys(asObject(example))) {
    must(name in asObject(properties), `${path} ${name}`, "must be declared to be in the example");
  }
}

/** A JSON response must have a named schema, or be a list or a choice of named schemas. */
function checkReply(path: string, response: JsonObject, must: RequireRule): void {
  for (const type of ["application/json", "application/x-ndjson"]) {
    const schema = asObject(asObject(asObject(response["content"])[type])["schema"]);
    if (Object.keys(schema).length === 0 || schema["format"] === "binary") continue;
    const parts = "anyOf" in schema ? asArray(schema["anyOf"]) : [schema["items"] ?? schema];
    const isNamed = parts.every((part) => "$ref" in asObject(part));
    must(isNamed, path, "must have a named schema");
  }
}

const REFUSAL = { $ref: "#/components/schemas/Refusal" };

function isRefusal(response: JsonObject): boolean {
  const contents = Object.entries(asObject(response["content"]));
  return (
    contents.length === 1 &&
    contents.every(
      ([type, content]) =>
        type === "application/json" && isDeepStrictEqual(asObject(content)["schema"], REFUSAL),
    )
  );
}

/** Resolves a reference; returns any other value unchanged. */
export const dereference = (document: JsonObject, value: unknown): unknown => {
  const { $ref } = asObject(value);
  return typeof $ref === "string" ? resolveReference(document, $ref) : value;
};

type RequireRule = (holds: boolean, path: string, rule: string) => void;

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
    const path = `${route} ${String(parameter["name"])}`;
    must(isText(parameter["name"]), path, "must have a name");
    must(
      ["query", "header"].includes(String(parameter["in"])),
      path,
      "must be a query or header parameter",
    );
    must(isText(parameter["description"]), path, "must have a description");
    const key = `${String(parameter["in"])} ${String(parameter["name"])}`;
    must(!seen.has(key), path, "must be unique");
    seen.add(key);
    checkSchema(path, parameter["schema"], must);
  }
}

function checkResponse(path: string, response: JsonObject, must: RequireRule): void {
  must(isText(response["description"]), path, "must have a description");
  checkContents(path, response, must);
}

function checkContents(path: string, holder: JsonObject, must: RequireRule): void {
  for (const [type, content] of Object.entries(asObject(holder["content"]))) {
    const { schema, example, examples } = asObject(content);
    must(/^[a-z]+\/[a-z-]+$/.test(type), path, "must name contents by media type");
    must(
      !(example !== undefined && examples !== undefined),
      path,
      "must not have both example and examples",
    );
    checkSchema(`${path} ${type}`, schema, must);
  }
}

function checkSchema(path: string, schema: unknown, must: RequireRule): void {
  must(typeof schema === "object" && schema !== null, path, "must have a schema");
  const { $ref, type, format, nullable, enum: values, properties } = asObject(schema);
  const keywords = Object.keys(asObject(schema));
  if ($ref !== undefined) must(keywords.length === 1, path, "must have nothing beside a reference");
  if (type !== undefined) must(TYPES.has(type as string), path, "must have a type of OpenAPI 3.0");
  must(type !== "integer" || format === "int64", path, "must have the format int64");
  must(type !== "array" || keywords.includes("items"), path, "must have items");
  must(nullable === undefined || nullable === true, path, "must not have nullable: false");
  must(nullable === undefined || type !== undefined, path, "must have a type to be nullable");
  if (values !== undefined) {
    const isTexts = asArray(values).length > 0 && asArray(values).every(isText);
    must(type === "string" && isTexts, path, "must have texts as enum values");
    must(
      new Set(asArray(values)).size === asArray(values).length,
      path,
      "must have unique enum values",
    );
  }
  for (const [keyword, value] of Object.entries(asObject(schema))) {
    const isAllowed = KEYWORDS.has(keyword) || keyword.startsWith("x-");
    must(isAllowed, `${path} ${keyword}`, "must be a keyword that generators support");
    if (keyword === "required") {
      for (const name of asArray(value)) {
        must(String(name) in asObject(properties), path, "must describe every required field");
      }
    }
    if (keyword === "properties") {
      for (const [name, inner] of Object.entries(asObject(value))) {
        checkSchema(`${path}.${name}`, inner, must);
      }
    }
    if (keyword === "items" || keyword === "additionalProperties") {
      checkSchema(`${path}[]`, value, must);
    }
    if (keyword === "anyOf") {
      must(asArray(value).length > 1, path, "must have several options");
      const isEnum = asArray(value).every((option) => "enum" in asObject(option));
      must(!isEnum, path, "must be one enum instead of a choice of enums");
    }
    if (keyword === "allOf")
      must(asArray(value).length === 1, path, "must wrap exactly one reference");
    if (keyword === "anyOf" || keyword === "allOf") {
      for (const inner of asArray(value)) checkSchema(path, inner, must);
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
