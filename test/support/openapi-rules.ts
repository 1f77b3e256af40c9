// The rules of OpenAPI 3.1 and of JSON Schema that a document like ours could break, written down
// one by one; what it breaks is listed with the place.

export type Part = Readonly<Record<string, unknown>>;

const TYPES = new Set(["string", "integer", "number", "boolean", "object", "array", "null"]);
const KEYWORDS = new Set([
  "type",
  "description",
  "properties",
  "patternProperties",
  "required",
  "items",
  "anyOf",
  "const",
  "format",
  "pattern",
  "contentMediaType",
  "$ref",
]);

export function brokenRules(document: Part): string[] {
  const broken: string[] = [];
  const must = (holds: boolean, place: string, rule: string): void => {
    if (!holds) broken.push(`${place}: ${rule}`);
  };
  must(/^3\.1\.\d+$/.test(String(document["openapi"])), "openapi", "is a version 3.1");
  const info = part(document["info"]);
  must(isText(info["title"]) && isText(info["version"]), "info", "has a title and a version");
  const license = part(info["license"]);
  must(isText(license["name"]), "info.license", "has a name");
  must(!("identifier" in license && "url" in license), "info.license", "has an id or an address");
  const components = part(document["components"]);
  const schemes = part(components["securitySchemes"]);
  for (const [name, scheme] of Object.entries(schemes)) {
    const { type, scheme: kind } = part(scheme) as { type?: unknown; scheme?: unknown };
    must(type === "http" && isText(kind), `securitySchemes.${name}`, "is an http scheme");
  }
  const tags = (document["tags"] as readonly Part[]).map(({ name }) => name);
  must(new Set(tags).size === tags.length, "tags", "each is there once");

  const ids = new Set<unknown>();
  for (const [route, operation] of operationsIn(document)) {
    must(/^(?:GET|POST) \/[^{}?#]*$/.test(route), route, "is a method and a path without a query");
    const { operationId, summary } = operation;
    must(isText(operationId) && !ids.has(operationId), route, "has an id of its own");
    ids.add(operationId);
    must(isText(summary), route, "has a summary");
    for (const tag of list(operation["tags"])) must(tags.includes(tag), route, "uses known tags");
    for (const need of list(operation["security"])) {
      const known = Object.keys(part(need)).every((name) => name in schemes);
      must(known, route, "uses known security schemes");
    }
    checkParameters(route, list(operation["parameters"]), must);
    if ("requestBody" in operation) {
      must(route.startsWith("POST "), route, "has a body only where a body means something");
      checkContents(`${route} body`, part(operation["requestBody"]), must, true);
    }
    const responses = Object.entries(part(operation["responses"]));
    must(responses.length > 0, route, "has responses");
    for (const [status, response] of responses) {
      must(/^(?:[1-5]\d\d|default)$/.test(status), route, "names responses by status");
      checkResponse(`${route} ${status}`, part(response), must);
    }
  }
  for (const [name, response] of Object.entries(part(components["responses"]))) {
    checkResponse(`responses.${name}`, part(response), must);
  }
  for (const [name, schema] of Object.entries(part(components["schemas"]))) {
    checkSchema(`schemas.${name}`, schema, must);
  }
  for (const reference of referencesIn(document)) {
    must(resolve(document, reference) !== undefined, reference, "leads somewhere");
  }
  return broken;
}

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
  if ("$ref" in response) return;
  must(isText(response["description"]), place, "has a description");
  checkContents(place, response, must, false);
}

function checkContents(place: string, holder: Part, must: Must, isRequest: boolean): void {
  for (const [type, content] of Object.entries(part(holder["content"]))) {
    const { schema, example, examples } = part(content);
    must(/^[a-z]+\/[a-z-]+$/.test(type), place, "has contents by media type");
    must(!(example !== undefined && examples !== undefined), place, "has an example or examples");
    checkSchema(`${place} ${type}`, schema, must);
    const { properties } = part(schema);
    if (isRequest && type === "application/json") {
      for (const [name, field] of Object.entries(part(properties))) {
        must(isText(part(field)["description"]), `${place} ${name}`, "says what it means");
      }
      for (const name of Object.keys(part(example))) {
        must(name in part(properties), `${place} ${name}`, "an example uses known fields");
      }
    }
  }
}

function checkSchema(place: string, schema: unknown, must: Must): void {
  must(typeof schema === "object" && schema !== null, place, "has a schema");
  for (const [keyword, value] of Object.entries(part(schema))) {
    const known = KEYWORDS.has(keyword) || keyword.startsWith("x-");
    must(known, `${place} ${keyword}`, "is a keyword of JSON Schema");
    if (keyword === "type") must(TYPES.has(String(value)), place, "has a type of JSON Schema");
    if (keyword === "required") {
      const { properties } = part(schema);
      for (const name of list(value)) {
        must(String(name) in part(properties), place, "requires what it describes");
      }
    }
    if (keyword === "properties" || keyword === "patternProperties") {
      for (const [name, inner] of Object.entries(part(value))) {
        checkSchema(`${place}.${name}`, inner, must);
      }
    }
    if (keyword === "items") checkSchema(`${place}[]`, value, must);
    if (keyword === "anyOf") {
      must(list(value).length > 1, place, "chooses between several");
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
