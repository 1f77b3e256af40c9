import type { Operation, RequestField } from "./document.ts";

/** How the body is entered: by fields, as JSON or text, or as a file. */
export type BodyMode = "fields" | "json" | "text" | "file";

/** The contents of the form. */
export interface RequestFormState {
  readonly values: Readonly<Record<string, string>>;
  readonly mode: BodyMode;
  /** The whole body, in the modes `json` and `text`. */
  readonly body: string;
  readonly file: File | null;
}

/** A request to send, without credentials. */
export interface OutgoingRequest {
  readonly method: Operation["method"];
  /** Including the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | File | null;
}

const WEEK = 7 * 24 * 3_600_000;

/** Example values by field name: those of the document, and for times one in the future. */
export const exampleValues = ({ fields }: Operation, now: number): Record<string, string> =>
  Object.fromEntries(fields.map((field) => [field.name, exampleOf(field, now)]));

function exampleOf({ example, isTime }: RequestField, now: number): string {
  if (!isTime || example === "") return example;
  const nextWeek = new Date(now + WEEK);
  nextWeek.setUTCMinutes(0, 0, 0);
  return nextWeek.toISOString().replace(".000Z", "Z");
}

/** The body with all fields that are not empty. */
export function jsonBodyOf({ fields }: Operation, values: RequestFormState["values"]): string {
  const filledFields = fields.filter(
    ({ name, location }) => location === "body" && hasValue(values, name),
  );
  return JSON.stringify(Object.fromEntries(filledFields.map(({ name }) => [name, values[name]])));
}

/** Validates nothing: the server reports what is wrong. */
export function buildRequest(operation: Operation, form: RequestFormState): OutgoingRequest {
  const { method, path, fields } = operation;
  const { values } = form;
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
  const { type, body } = encodeBody(operation, form);
  // The browser sets the type of a multipart form itself: only it knows the boundary.
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
