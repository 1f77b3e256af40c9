// Calls to either host of a pair, each with a time limit.

export interface CallAnswer {
  readonly host: string;
  readonly status: number;
  readonly body: unknown;
  readonly sentAt: number;
  readonly arrivedAt: number;
}

export interface HostAddress {
  readonly name: string;
  /** Where clients reach it. */
  readonly url: string;
}

interface Call {
  readonly path: string;
  /** Null: a read. */
  readonly body: object | null;
  /** Default: GET for a read, else POST. */
  readonly method?: string;
  readonly key?: string | null;
  readonly timeoutMs: number;
}

/** Calls one host; null if no answer arrived in time. */
export async function callHost(
  { name: host, url }: HostAddress,
  { path, body, method = body === null ? "GET" : "POST", key = null, timeoutMs }: Call,
): Promise<CallAnswer | null> {
  const sentAt = performance.now();
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      ...(body !== null && { body: JSON.stringify(body) }),
      headers: {
        ...(body !== null && { "content-type": "application/json" }),
        ...(key !== null && { "idempotency-key": key }),
      },
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    const answer = { host, status: response.status, body: isJson ? JSON.parse(text) : text };
    return { ...answer, sentAt, arrivedAt: performance.now() };
  } catch {
    return null;
  }
}

/** Whether a host answered as the leader: a 503 says nothing about what happened to the call. */
export const isAnswered = (answer: CallAnswer | null): answer is CallAnswer =>
  answer !== null && answer.status < 500;

export const codeOf = ({ body }: CallAnswer): string | undefined =>
  (body as { readonly code?: string }).code;
