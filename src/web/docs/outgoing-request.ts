import type { Operation, RequestField } from "./document.ts";

/** How the body is given: by its fields, as it is written, or as a document. */
export type BodyMode = "fields" | "json" | "text" | "file";

/** What somebody filled in. */
export interface RequestFormState {
  readonly values: Readonly<Record<string, string>>;
  readonly mode: BodyMode;
  /** The whole body in the modes that take one as text. */
  readonly body: string;
  readonly file: File | null;
}

/** A request as it goes out, credentials aside. */
export interface OutgoingRequest {
  readonly method: "GET" | "POST";
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | File | null;
}

const WEEK = 7 * 24 * 3_600_000;

/** What to try it with, by name: the document's examples, and of times one still to come. */
export const exampleValues = ({ fields }: Operation, now: number): Record<string, string> =>
  Object.fromEntries(fields.map((field) => [field.name, exampleOf(field, now)]));

function exampleOf({ example, isTime }: RequestField, now: number): string {
  if (!isTime || example === "") return example;
  const soon = new Date(now + WEEK);
  soon.setUTCMinutes(0, 0, 0);
  return soon.toISOString().replace(".000Z", "Z");
}

/** Every field that has something in it; one left empty is left out. */
export function jsonBodyOf({ fields }: Operation, values: RequestFormState["values"]): string {
  const given = fields.filter(
    ({ name, location }) => location === "body" && hasValue(values, name),
  );
  return JSON.stringify(Object.fromEntries(given.map(({ name }) => [name, values[name]])));
}

/** Nothing is judged here: what is wrong with it is for the server to say. */
export function buildRequest(operation: Operation, filled: RequestFormState): OutgoingRequest {
  const { method, path, fields } = operation;
  const { values } = filled;
  const query = new URLSearchParams();
  const headers: Record<string, string> = { Accept: "application/json" };
  for (const { name, location } of fields) {
    const value = values[name] ?? "";
    if (value === "") continue;
    if (location === "query") query.append(name, value);
    if (location === "header") headers[name] = value;
  }
  const target = query.size === 0 ? path : `${path}?${query}`;
  if (!operation.hasBody) return { method, path: target, headers, body: null };
  const { type, body } = encodeBody(operation, filled);
  // A browser writes the type of a form itself: only it knows where the parts begin.
  if (type !== null) headers["Content-Type"] = type;
  return { method, path: target, headers, body };
}

function encodeBody(operation: Operation, { mode, values, body, file }: RequestFormState) {
  switch (mode) {
    case "fields":
      return { type: "application/json", body: jsonBodyOf(operation, values) };
    case "json":
      return { type: "application/json", body };
    case "text":
      return { type: "text/plain", body };
    default:
      return { type: null, body: file ?? new File([], "nothing") };
  }
}

const hasValue = (values: RequestFormState["values"], name: string): boolean =>
  (values[name] ?? "") !== "";
