import type { Plane } from "../../http/access/planes.ts";

/** The part of OpenAPI's schemas that the document uses. */
export interface Schema {
  /** Refers to a schema among the components; no other member is present then. */
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly nullable?: boolean;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly "x-required"?: boolean;
  readonly "x-max-bytes"?: number;
}

interface Parameter {
  readonly name: string;
  readonly in: "query" | "header";
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: string;
  readonly "x-required"?: boolean;
}

interface MediaTypeObject {
  readonly schema: Schema;
  readonly example?: Readonly<Record<string, string>>;
  readonly examples?: Readonly<Record<string, { readonly value: Refusal }>>;
}

type ContentByMediaType = Readonly<Record<string, MediaTypeObject>>;

interface ResponseObject {
  readonly description: string;
  readonly content?: ContentByMediaType;
}

interface OperationObject {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly content: ContentByMediaType;
    readonly "x-also-accepts"?: readonly string[];
  };
  readonly responses: Readonly<Record<string, ResponseObject>>;
  readonly "x-plane": Plane;
  readonly "x-destructive-effect"?: string;
}

export interface OpenApiDocument {
  readonly info: { readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: { readonly AnyRefusal: ResponseObject };
  };
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** One field of a request, in its body, query or headers. */
export interface RequestField {
  readonly name: string;
  readonly location: "body" | "query" | "header";
  readonly description: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly maxBytes: number | null;
  /** The example value; empty: the field is not sent. */
  readonly example: string;
  /** A time: any fixed example would be in the past one day. */
  readonly isTime: boolean;
}

/** One kind of successful reply. */
export interface ReplyKind {
  /** The media type. */
  readonly type: string;
  readonly schema: Schema;
}

export interface Operation {
  /** Its address, behind the `#`. */
  readonly id: string;
  readonly group: string;
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly plane: Plane;
  readonly destructionWarning: string | null;
  readonly fields: readonly RequestField[];
  readonly hasBody: boolean;
  /** Also accepts the document as a file. */
  readonly canUploadFile: boolean;
  /** The successful replies; empty: they have no body. */
  readonly replies: readonly ReplyKind[];
  readonly refusals: readonly Refusal[];
}

export function operationsIn({ paths, components }: OpenApiDocument): Operation[] {
  const schemas = new SchemaResolver(components.schemas);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) =>
      operationOf(method, path, described, schemas),
    ),
  );
}

export const commonRefusals = ({ components }: OpenApiDocument): Refusal[] =>
  refusalsIn(components.responses.AnyRefusal);

/** Resolves references to named schemas. */
export class SchemaResolver {
  readonly #schemas: OpenApiDocument["components"]["schemas"];

  constructor(schemas: OpenApiDocument["components"]["schemas"]) {
    this.#schemas = schemas;
  }

  /** Returns the schema with all references replaced by what they refer to. */
  resolve(schema: Schema): Schema {
    const { $ref, items, properties, anyOf, allOf } = schema;
    if ($ref !== undefined) return this.resolve(this.#schemas[$ref.split("/").at(-1) ?? ""] ?? {});
    // The document wraps a reference in allOf only to add a description.
    const [wrapped] = allOf ?? [];
    if (wrapped !== undefined) return { ...this.resolve(wrapped), ...schema };
    return {
      ...schema,
      ...(items && { items: this.resolve(items) }),
      ...(anyOf && { anyOf: anyOf.map((option) => this.resolve(option)) }),
      ...(properties && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, part]) => [name, this.resolve(part)]),
        ),
      }),
    };
  }
}

const idOf = (method: string, path: string): string =>
  `${method}-${path.replaceAll(/\W+/g, "-").replaceAll(/^-|-$/g, "")}`;

function operationOf(
  method: string,
  path: string,
  described: OperationObject,
  schemas: SchemaResolver,
): Operation {
  const { requestBody, responses } = described;
  return {
    id: idOf(method, path),
    group: described.tags[0] ?? "",
    method: method === "get" ? "GET" : method === "put" ? "PUT" : "POST",
    path,
    summary: described.summary,
    description: described.description ?? "",
    plane: described["x-plane"],
    destructionWarning: described["x-destructive-effect"] ?? null,
    fields: [
      ...bodyFields(requestBody?.content, schemas),
      ...described.parameters.map(parameterField),
    ],
    hasBody: requestBody !== undefined,
    canUploadFile: requestBody?.["x-also-accepts"]?.includes("multipart/form-data") === true,
    replies: Object.entries(responses["200"]?.content ?? {}).flatMap(([type, { schema }]) =>
      (schema.anyOf ?? [schema]).map((option) => ({ type, schema: schemas.resolve(option) })),
    ),
    refusals: Object.entries(responses).flatMap(([status, response]) =>
      /^[45]/.test(status) ? refusalsIn(response) : [],
    ),
  };
}

function bodyFields(
  contents: ContentByMediaType | undefined,
  schemas: SchemaResolver,
): RequestField[] {
  const { schema, example = {} } = contents?.["application/json"] ?? { schema: {} };
  return Object.entries(schemas.resolve(schema).properties ?? {}).map(([name, property]) => ({
    ...fieldOf(name, property),
    location: "body",
    isRequired: property["x-required"] === true,
    example: example[name] ?? "",
  }));
}

const parameterField = (parameter: Parameter): RequestField => ({
  ...fieldOf(parameter.name, parameter.schema),
  location: parameter.in,
  description: parameter.description ?? "",
  isRequired: parameter["x-required"] === true,
  example: parameter.example ?? "",
});

const fieldOf = (name: string, schema: Schema) => ({
  name,
  description: schema.description ?? "",
  type: schema.type ?? "any",
  maxBytes: schema["x-max-bytes"] ?? null,
  isTime: schema.format === "date-time",
});

const refusalsIn = ({ content }: ResponseObject): Refusal[] =>
  Object.values(content?.["application/json"]?.examples ?? {}).map(({ value }) => value);
