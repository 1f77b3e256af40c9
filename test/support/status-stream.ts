// A client of a server's status stream, which collects the lines as they arrive.
import { onTestFinished } from "bun:test";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import { PATIENCE } from "./patience.ts";

export const STREAM_PATH = "/api/admin/v1/stream";

/** The whole body; of a stream, which has no end, only the first part. */
export async function readText(response: Response): Promise<string> {
  if (response.headers.get("content-type") !== "application/x-ndjson") return response.text();
  for await (const part of response.body ?? []) return new TextDecoder().decode(part);
  return "";
}

export class StatusStream {
  readonly response: Response;
  /** Every line so far, including empty ones. */
  readonly lines: string[] = [];
  /** Resolves to true if the server ends the stream, to false if the connection breaks. */
  readonly ended: Promise<boolean>;
  readonly #abort: AbortController;

  static async open(url: string, init: BunFetchRequestInit = {}): Promise<StatusStream> {
    const abort = new AbortController();
    onTestFinished(() => abort.abort());
    const response = await fetch(`${url}${STREAM_PATH}`, { ...init, signal: abort.signal });
    return new StatusStream(response, abort);
  }

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.ended = this.#read().then(
      () => true,
      () => false,
    );
  }

  /** The received statuses, oldest first. */
  get statuses(): StatusReply[] {
    return this.lines
      .filter((line) => line !== "")
      .map((line) => (JSON.parse(line) as { status: StatusReply }).status);
  }

  /** Waits until the newest status matches, and returns it. */
  async waitForStatus(isExpected: (status: StatusReply) => boolean): Promise<StatusReply> {
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      const last = this.statuses.at(-1);
      if (last !== undefined && isExpected(last)) return last;
      if (performance.now() > deadline)
        throw new Error(`the expected status never came; the last one: ${JSON.stringify(last)}`);
      await Bun.sleep(10);
    }
  }

  /** Closes the connection, as closing a browser page does. */
  disconnect(): void {
    this.#abort.abort();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const part of this.response.body ?? []) {
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      this.lines.push(...lines);
    }
  }
}
