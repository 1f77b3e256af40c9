// A driver as a process: sends requests, matches the replies, and collects the events.
import { tmpdir } from "node:os";
import { waitUntil } from "../../support/wait-until.ts";
import type { DriverEvent, ErrorReply, LossEvent, Operations, WaitEvent } from "./protocol.ts";

/** An error that the client reported to its application. */
export class ClientError extends Error {
  readonly reply: ErrorReply;

  constructor(operation: string, reply: ErrorReply) {
    super(`${operation}: ${reply.kind} ${reply.code}: ${reply.message}`);
    this.reply = reply;
  }
}

type Line =
  | { readonly id: number; readonly ok: unknown }
  | { readonly id: number; readonly error: ErrorReply }
  | DriverEvent;

interface Pending {
  readonly operation: string;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

export interface DriverEnd {
  /** The exit code; null: a signal ended the process. */
  readonly code: number | null;
  readonly stderr: string;
}

export class Driver {
  readonly events: DriverEvent[] = [];
  readonly #child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  readonly #pending = new Map<number, Pending>();
  readonly #ended: Promise<DriverEnd>;
  #lastId = 0;
  #stderr = "";

  /** `env` is added to the environment of the tests, without its proxies. */
  constructor(command: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const base = { PATH: process.env["PATH"] ?? "", HOME: tmpdir(), TMPDIR: tmpdir() };
    this.#child = Bun.spawn([...command], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
      cwd: tmpdir(),
      env: { ...base, ...env },
    });
    const outputRead = this.#readReplies();
    const errorRead = this.#readErrors();
    this.#ended = this.#awaitEnd([outputRead, errorRead]);
  }

  get pid(): number {
    return this.#child.pid;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Sends a request and returns its reply; throws `ClientError` if the client refuses. */
  request<Name extends keyof Operations>(
    operation: Name,
    fields: Operations[Name]["fields"],
  ): Promise<Operations[Name]["reply"]> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, { operation, resolve, reject });
    void this.#child.stdin.write(`${JSON.stringify({ id, op: operation, ...fields })}\n`);
    void this.#child.stdin.flush();
    return promise as Promise<Operations[Name]["reply"]>;
  }

  /** Sends a request that must fail, and returns the error. */
  async requestError<Name extends keyof Operations>(
    operation: Name,
    fields: Operations[Name]["fields"],
  ): Promise<ErrorReply> {
    let reply: unknown;
    try {
      reply = await this.request(operation, fields);
    } catch (error) {
      if (error instanceof ClientError) return error.reply;
      throw error;
    }
    throw new Error(`${operation} succeeded, but must fail: ${JSON.stringify(reply)}`);
  }

  /** The losses of a slot or of a feature. */
  lossesOf(name: string): LossEvent[] {
    return this.events.filter(
      (event): event is LossEvent =>
        event.event === "loss" && (event.feature ?? event.slot) === name,
    );
  }

  waitsOf(slot: string): WaitEvent[] {
    return this.events.filter(
      (event): event is WaitEvent => event.event === "wait" && event.slot === slot,
    );
  }

  async waitForLoss(slot: string): Promise<LossEvent> {
    await waitUntil(() => this.lossesOf(slot).length > 0, `the loss of ${slot}`);
    return this.lossesOf(slot)[0] as LossEvent;
  }

  async waitForWait(slot: string, holds: (event: WaitEvent) => boolean = () => true) {
    await waitUntil(() => this.waitsOf(slot).some(holds), `a place in the queue for ${slot}`);
    return this.waitsOf(slot).find(holds) as WaitEvent;
  }

  /** Closes the driver's standard input, so that it returns from its main function. */
  end(): Promise<DriverEnd> {
    void this.#child.stdin.end();
    return this.#ended;
  }

  /** SIGKILL: the client can do nothing more. */
  kill(): Promise<DriverEnd> {
    this.#child.kill("SIGKILL");
    return this.#ended;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async #awaitEnd(outputs: readonly Promise<void>[]): Promise<DriverEnd> {
    const code = await this.#child.exited;
    await Promise.all(outputs);
    const end = { code: this.#child.signalCode === null ? code : null, stderr: this.#stderr };
    for (const { operation, reject } of this.#pending.values()) {
      reject(new Error(`the driver ended during ${operation}: ${JSON.stringify(end)}`));
    }
    this.#pending.clear();
    return end;
  }

  async #readReplies(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const part of this.#child.stdout) {
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#receive(JSON.parse(line) as Line);
    }
  }

  async #readErrors(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const part of this.#child.stderr) {
      this.#stderr += decoder.decode(part, { stream: true });
    }
  }

  #receive(line: Line): void {
    if ("event" in line) return void this.events.push(line);
    const pending = this.#pending.get(line.id);
    if (pending === undefined)
      throw new Error(`a reply without a request: ${JSON.stringify(line)}`);
    this.#pending.delete(line.id);
    if ("error" in line) pending.reject(new ClientError(pending.operation, line.error));
    else pending.resolve(line.ok);
  }
}

/** Another thread may have released the user meanwhile; a failed call would be an error. */
export async function ignoreRefusal(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    const kind = error instanceof ClientError ? error.reply.kind : null;
    if (kind === null || !["Refused", "NoFreeSlot", "InvalidArgument"].includes(kind)) throw error;
  }
}
