// The text of a reply for a golden file: status, headers and body.
import { formatValue, listMembers } from "./format-value.ts";
import { replaceInText, replaceInValue } from "./placeholders.ts";
import type { Reply } from "./replies.ts";

/** Headers of every reply, which test/http/replies.test.ts checks, and those of no interest. */
const COMMON_HEADERS: ReadonlySet<string> = new Set([
  "berth-appliance",
  "cache-control",
  "content-length",
  "referrer-policy",
  "vary",
  "x-content-type-options",
  "x-frame-options",
  "x-request-id",
]);

/** Their findings depend on the machine, so only the names of their members are compared. */
const OF_MACHINE: ReadonlySet<string> = new Set(["GET /api/admin/v1/doctor"]);

export function describeReply({ route, response, body }: Reply): string {
  const headers = [...response.headers]
    .filter(([name]) => !COMMON_HEADERS.has(name))
    .map(([name, value]) => `${name}: ${replaceInText(value)}`);
  return [`${response.status}`, ...headers, "", describeBody(route, response, body)].join("\n");
}

function describeBody(route: string, { headers }: Response, body: unknown): string {
  if (route === "GET /api/v4/openapi.json") return "in openapi.txt";
  if (OF_MACHINE.has(route)) return listMembers(body).join("\n");
  if (typeof body !== "string") return formatValue(replaceInValue(body));
  const [type] = (headers.get("content-type") ?? "").split(";");
  const describe = BODIES[type ?? ""] ?? describeBytes;
  return describe(body);
}

const firstLines = (text: string, count: number): string =>
  text.split(/\r?\n/).slice(0, count).join("\n");

function describeJsonLines(body: string): string {
  const lines = body.split("\n").filter((line) => line !== "");
  return lines
    .slice(0, 4)
    .map((line) => formatValue(replaceInValue(JSON.parse(line))))
    .join("\n\n");
}

/** Texts, and metrics without their values, which depend on the machine. */
const describeMetrics = (body: string): string =>
  replaceInText(body.replaceAll(/^(\w+(?:\{.*\})?) [-+\d.eInfNa]+$/gm, "$1"));

/** The beginning of a file, up to the first byte that is not text. */
const describeBytes = (body: string): string =>
  `${body.length > 0 ? "" : "(empty) "}${/^[ -~]*/.exec(body.slice(0, 40))?.[0] ?? ""}`;

/** How a body that is not JSON is described, by its content type. */
const BODIES: Readonly<Record<string, (body: string) => string>> = {
  "application/json": (body) => body,
  "application/x-ndjson": describeJsonLines,
  "text/csv": (body) => replaceInText(firstLines(body, 6)),
  "text/html": (body) => firstLines(body, 1),
  "text/plain": describeMetrics,
};
