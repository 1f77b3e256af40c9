import { log } from "../platform/log.ts";
import { refusalReply } from "./faults.ts";
import { callerOf } from "./gate.ts";
import { isStateChangingRequest, pathOf } from "./planes.ts";

/**
 * default: admin actions, logins, refused requests, server errors and slow requests; requests:
 * every request.
 */
export type LogMode = "default" | "requests";

type FetchHandler = (request: Request) => Response | Promise<Response>;

const SLOW = 1_000;
/** More at once than any site has clients: somebody opens connections for the sake of it. */
const MOST_PENDING = 20_000;
const LONGEST_PATH = 200;

/**
 * Around every request of every listener: how many at once, and which leave a line in the log.
 * Never what was asked for beyond the path: queries and bodies hold secrets.
 */
export function withAccessLog(fetch: FetchHandler, mode: LogMode): FetchHandler {
  const paces = new Map(RATE_LIMITED_MESSAGES.map((what) => [what, new RateLimiter()] as const));
  let pending = 0;
  return async (request) => {
    if (pending >= MOST_PENDING) return tooManyRequestsResponse();
    const started = performance.now();
    pending += 1;
    try {
      const response = await fetch(request);
      const took = performance.now() - started;
      const what =
        mode === "requests" ? "request" : classifyRequest(request, response.status, took);
      if (what === null) return response;
      const pace = paces.get(what);
      const suppressed = pace === undefined ? 0 : pace.allow();
      if (suppressed !== null)
        writeLogLine(what, request, response, { durationMs: took, suppressed });
      return response;
    } finally {
      pending -= 1;
    }
  };
}

/**
 * What callers can cause as often as they like, a full or slow disk included: each has a pace of
 * its own, so that a flood of one does not hide another.
 */
const RATE_LIMITED_MESSAGES: readonly string[] = [
  "server error",
  "slow request",
  "request refused",
];

/** No credential, not from there, not by that name, not so often. */
const ACCESS_REFUSED_STATUSES = new Set([401, 403, 421, 429]);

function classifyRequest(request: Request, status: number, took: number): string | null {
  if (status >= 500) return "server error";
  if (took >= SLOW) return "slow request";
  if (ACCESS_REFUSED_STATUSES.has(status)) return "request refused";
  const plane = callerOf(request)?.plane;
  if (status !== 200) return null;
  if (plane === "login") return "login";
  const isAdministration =
    plane === "admin" && isStateChangingRequest(request.method, pathOf(request.url));
  return isAdministration ? "admin action" : null;
}

interface RequestMeasurement {
  readonly durationMs: number;
  /** How many similar lines were left out before this one. */
  readonly suppressed: number;
}

function writeLogLine(
  what: string,
  request: Request,
  response: Response,
  { durationMs, suppressed }: RequestMeasurement,
) {
  const caller = callerOf(request);
  const facts = {
    method: request.method,
    path: pathOf(request.url).slice(0, LONGEST_PATH),
    status: response.status,
    duration_ms: Math.round(durationMs * 10) / 10,
    peer: caller?.peer ?? null,
    ...(caller?.actor && { actor: caller.actor.name }),
    request_id: response.headers.get("x-request-id"),
    ...(suppressed > 0 && { suppressed }),
  };
  if (response.status >= 500) log.error(what, facts);
  else log.info(what, facts);
}

/** Ten lines a second: whoever calls all day must not fill the disk with log lines. */
class RateLimiter {
  #currentSecond = 0;
  #allowedCount = 0;
  #suppressed = 0;

  /** How many were left out before this one; null: this one is left out as well. */
  allow(): number | null {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#currentSecond) {
      this.#currentSecond = second;
      this.#allowedCount = 0;
    }
    this.#allowedCount += 1;
    if (this.#allowedCount > 10) {
      this.#suppressed += 1;
      return null;
    }
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    return suppressed;
  }
}

function tooManyRequestsResponse(): Response {
  const body = refusalReply({ code: "too_many_requests", busy: "requests" });
  const headers = { "cache-control": "no-store", "retry-after": "1" };
  return Response.json(body, { status: body.status, headers });
}
