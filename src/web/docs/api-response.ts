import type { OutgoingRequest } from "./outgoing-request.ts";

export interface ApiResponse {
  readonly status: number;
  readonly milliseconds: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The response had not ended when the time limit was reached. */
  readonly isTruncated: boolean;
}

/** Streams of this API do not end by themselves. */
const READ_TIMEOUT = 5_000;

/** Sends a real request to the server of this page. */
export async function sendRequest(
  request: OutgoingRequest,
  authorization: string | null,
): Promise<ApiResponse> {
  const { method, path, headers, body } = request;
  const startedAt = performance.now();
  const response = await fetch(path, {
    method,
    headers: { ...headers, ...(authorization !== null && { Authorization: authorization }) },
    body: body instanceof File ? formOf(body) : body,
    // Without credentials the browser opens no login window; a redirect is not a valid response.
    credentials: "omit",
    cache: "no-store",
    redirect: "error",
  });
  const milliseconds = performance.now() - startedAt;
  const { bytes, isTruncated } = await readUntilTimeout(READ_TIMEOUT, response);
  return {
    status: response.status,
    milliseconds,
    headers: [...response.headers],
    type: response.headers.get("content-type") ?? "",
    bytes,
    isTruncated,
  };
}

function formOf(file: File): FormData {
  const form = new FormData();
  form.append("license", file);
  return form;
}

async function readUntilTimeout(timeout: number, response: Response) {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const reader = response.body?.getReader();
  let isTruncated = false;
  const timer = setTimeout(() => {
    isTruncated = true;
    void reader?.cancel();
  }, timeout);
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) break;
    parts.push(part.value);
  }
  clearTimeout(timer);
  return { bytes: new Uint8Array(await new Blob(parts).arrayBuffer()), isTruncated };
}

const TEXT = /^text\/|json|jwt/;

/** The body as readable text; null: it is not text. */
export function formatBody({ type, bytes }: Pick<ApiResponse, "type" | "bytes">): string | null {
  if (!TEXT.test(type)) return bytes.length === 0 ? "" : null;
  const text = new TextDecoder().decode(bytes);
  if (!type.startsWith("application/json")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
