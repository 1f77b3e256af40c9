// A license server whose replies a test chooses, for what a real one does not do at will: short
// time-outs, replies that are late or wrong, and slots that are lost.

export interface ReceivedCall {
  readonly operation: string;
  readonly body: Readonly<Record<string, string>>;
  readonly headers: Headers;
}

export type ScriptedReply = (call: ReceivedCall, number: number) => Response | Promise<Response>;

/** The reply of `register` that grants a slot, with a time-out in minutes. */
export const granted = (timeoutMinutes = 15, registeredAt = "2099-01-01T08:00:00.000Z"): Response =>
  Response.json({
    license_id: 7,
    registered_at: registeredAt,
    expires_at: "2099-01-01T08:15:00.000Z",
    floating_timeout: timeoutMinutes,
  });

interface RefusedReply {
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  readonly hint?: string;
  readonly retryAfter?: number;
  readonly queue?: object;
}

export const refused = ({
  status = 400,
  code = "floating_not_available",
  message = "all 5 slots are in use",
  hint,
  retryAfter,
  queue,
}: RefusedReply = {}): Response =>
  Response.json(
    { status, code, message, hint, queue },
    {
      status,
      headers: retryAfter === undefined ? {} : { "retry-after": String(retryAfter) },
    },
  );

export class ScriptedServer {
  readonly calls: ReceivedCall[] = [];
  readonly url: string;
  readonly #server: Bun.Server<undefined>;

  /** `register` gets the number of the call, from 1 on. All else succeeds. */
  constructor(register: ScriptedReply, other: ScriptedReply = () => new Response("done")) {
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        const operation = pathname.slice(pathname.lastIndexOf("/") + 1);
        const text = await request.text();
        const body = (text === "" ? {} : JSON.parse(text)) as ReceivedCall["body"];
        const call = { operation, body, headers: request.headers };
        this.calls.push(call);
        return operation === "register"
          ? register(call, this.count("register"))
          : other(call, this.count(operation));
      },
    });
    this.url = this.#server.url.origin;
  }

  count(operation: string): number {
    return this.calls.filter((call) => call.operation === operation).length;
  }

  get operations(): string[] {
    return this.calls.map(({ operation }) => operation);
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }
}
