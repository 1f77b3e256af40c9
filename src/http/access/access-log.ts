import { log } from "../../platform/log.ts";
import { RateLimiter } from "../../platform/schedule/rate-limiter.ts";
import { refusalReply } from "../faults.ts";
import type { RequestDurations } from "../metrics/request-durations.ts";
import { callerOf } from "./gate.ts";
import { pathOf } from "./route-table.ts";
import { LEADER_HEADER } from "./standby.ts";
import type { WaitingCount } from "./waiting-count.ts";

/**
 * default: admin actions, logins, refused requests, server errors and slow requests; requests:
 * every request.
 */
export type LogMode = "default" | "requests";

type FetchHandler = (request: Request) => Response | Promise<Response>;

const SLOW_MS = 1_000;
/** More concurrent requests than any site has clients: beyond this, it is an attack or a bug. */
const MAX_PENDING = 20_000;
const MAX_PATH_LENGTH = 200;
const LINES_PER_SECOND = 10;

/**
 * Wraps every request of a listener: limits concurrent requests, measures how long they take, and
 * writes the access log. Logs only the path of a request: queries and bodies contain secrets.
 */
export function withAccessLog(
  fetch: FetchHandler,
  mode: LogMode,
  durations: RequestDurations,
  waiting: Pick<WaitingCount, "count"> = { count: 0 },
): FetchHandler {
  const limiter = new LogLineLimiter();
  let pending = 0;
  const finish = (request: Request, response: Response, startedAt: number): Response => {
    pending -= 1;
    const durationMs = performance.now() - startedAt;
    const caller = callerOf(request);
    const workMs = durationMs - (caller?.waitedMs ?? 0);
    durations.observe(caller?.route?.pattern ?? null, response.status, workMs);
    const message = mode === "requests" ? "request" : classifyRequest(request, response, workMs);
    if (message === null) return response;
    const suppressed = RATE_LIMITED_MESSAGES.has(message) ? limiter.allow(message) : 0;
    if (suppressed !== null) writeLogLine(message, request, response, { durationMs, suppressed });
    return response;
  };
  const fail = (error: unknown): never => {
    pending -= 1;
    throw error;
  };
  // Not an async function: every request would wait once more.
  return (request) => {
    if (pending - waiting.count >= MAX_PENDING) return tooManyRequestsResponse();
    const startedAt = performance.now();
    pending += 1;
    let reply: Response | Promise<Response>;
    try {
      reply = fetch(request);
    } catch (error) {
      return fail(error);
    }
    return reply instanceof Promise
      ? reply.then((response) => finish(request, response, startedAt), fail)
      : finish(request, reply, startedAt);
  };
}

/**
 * Messages that callers can cause without limit, also through a full or slow disk. They are counted
 * separately, so that a flood of one does not hide another.
 */
const RATE_LIMITED_MESSAGES: ReadonlySet<string> = new Set([
  "server error",
  "slow request",
  "request refused",
]);

/** Wrong or missing credential, wrong network or role, wrong host name, too many requests. */
const ACCESS_REFUSED_STATUSES = new Set([401, 403, 421, 429]);

function classifyRequest(
  request: Request,
  { status, headers }: Response,
  workMs: number,
): string | null {
  // A host on standby is in order, and clients and load balancers ask it again and again.
  if (headers.has(LEADER_HEADER)) return null;
  if (status >= 500) return "server error";
  if (workMs >= SLOW_MS) return "slow request";
  if (ACCESS_REFUSED_STATUSES.has(status)) return "request refused";
  if (status !== 200) return null;
  const route = callerOf(request)?.route;
  if (route?.plane === "login") return "login";
  return route?.plane === "admin" && route.changesState ? "admin action" : null;
}

interface RequestMeasurement {
  readonly durationMs: number;
  /** Number of similar lines that were suppressed before this one. */
  readonly suppressed: number;
}

function writeLogLine(
  message: string,
  request: Request,
  response: Response,
  { durationMs, suppressed }: RequestMeasurement,
) {
  const caller = callerOf(request);
  const fields = {
    method: request.method,
    path: pathOf(request.url).slice(0, MAX_PATH_LENGTH),
    status: response.status,
    duration_ms: Math.round(durationMs * 10) / 10,
    peer: caller?.peer ?? null,
    ...(caller?.actor && { actor: caller.actor.name }),
    request_id: response.headers.get("x-request-id"),
    ...(suppressed > 0 && { suppressed }),
  };
  if (response.status >= 500) log.error(message, fields);
  else log.info(message, fields);
}

/** Ten lines a second of each message, so that a client in a loop cannot fill the disk. */
class LogLineLimiter {
  readonly #lines = new RateLimiter(1_000);
  readonly #suppressed = new Map<string, number>();

  /** Number of lines suppressed before this one; null: this one is suppressed too. */
  allow(message: string): number | null {
    const now = performance.now();
    const suppressed = this.#suppressed.get(message) ?? 0;
    if (this.#lines.count(now, message) >= LINES_PER_SECOND) {
      this.#suppressed.set(message, suppressed + 1);
      return null;
    }
    this.#lines.add(now, [message]);
    this.#suppressed.set(message, 0);
    return suppressed;
  }
}

function tooManyRequestsResponse(): Response {
  const body = refusalReply({ code: "too_many_requests", busy: "requests" });
  const headers = { "cache-control": "no-store", "retry-after": "1" };
  return Response.json(body, { status: body.status, headers });
}
