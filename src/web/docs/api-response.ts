import type { OutgoingRequest } from "./outgoing-request.ts";

export interface ApiResponse {
  readonly status: number;
  readonly milliseconds: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** It went on for longer than anybody wants to wait. */
  readonly isTruncated: boolean;
}

/** Streams of this API have no end of their own. */
const READ_TIMEOUT = 5_000;

/** Sends the real request, from this page to its own server. */
export async function sendRequest(
  sending: OutgoingRequest,
  authorization: string | null,
): Promise<ApiResponse> {
  const { method, path, headers, body } = sending;
  const started = performance.now();
  const response = await fetch(path, {
    method,
    headers: { ...headers, ...(authorization !== null && { Authorization: authorization }) },
    body: body instanceof File ? formOf(body) : body,
    // Without the browser's own login window; and a page of another place is no answer.
    credentials: "omit",
    cache: "no-store",
    redirect: "error",
  });
  const milliseconds = performance.now() - started;
  const { bytes, isCut } = await readUntilTimeout(READ_TIMEOUT, response);
  return {
    status: response.status,
    milliseconds,
    headers: [...response.headers],
    type: response.headers.get("content-type") ?? "",
    bytes,
    isTruncated: isCut,
  };
}

function formOf(file: File): FormData {
  const form = new FormData();
  form.append("license", file);
  return form;
}

async function readUntilTimeout(patience: number, response: Response) {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const reader = response.body?.getReader();
  let isCut = false;
  const impatience = setTimeout(() => {
    isCut = true;
    void reader?.cancel();
  }, patience);
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) break;
    parts.push(part.value);
  }
  clearTimeout(impatience);
  return { bytes: new Uint8Array(await new Blob(parts).arrayBuffer()), isCut };
}

const TEXT = /^text\/|json|jwt/;

/** For people to read; null: nothing that is text. */
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
