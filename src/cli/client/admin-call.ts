import { existsSync } from "node:fs";
import { createApp } from "../../http/app.ts";
import { socketGate } from "../../http/access/gate.ts";
import type { Environment } from "../../platform/options.ts";
import { runAsFolderOwner } from "../../platform/owner.ts";
import { readFolderUse } from "../../operations/folder/folder-contents.ts";
import { refuseCopy } from "../../operations/folder/appliance-claim.ts";
import { openAppliance, socketPath } from "../serve/appliance.ts";
import { Failure, ServerRefused } from "../frame/command.ts";

/** Calls the admin API of an appliance, whether its server is running or not. */
export type AdminCall = (method: "GET" | "POST", path: string, body?: object) => Promise<unknown>;

/** Calls a route that replies with a stream. */
export type AdminStream = (path: string) => Promise<AsyncIterable<Uint8Array>>;

export interface AdminTarget {
  readonly folder: string;
  readonly identityName: string | null;
  readonly environment: Environment;
  /** Creates a site in an empty folder, so that access can be restricted before the first start. */
  readonly createIfEmpty?: boolean;
}

/**
 * Calls the running server through its socket. Without a server, opens the folder under its lock
 * and calls the same routes there. Never both at once.
 */
export const withAdminCall = <T>(target: AdminTarget, use: AdminClientUser<T>): Promise<T> =>
  runAsFolderOwner(target.folder, () => openAdminCall(target, use));

async function openAdminCall<T>(target: AdminTarget, use: AdminClientUser<T>): Promise<T> {
  const { folder, identityName, environment, createIfEmpty = false } = target;
  const socket = socketPath(folder);
  if (existsSync(socket) && (await isServerListening(socket))) {
    const send: SendRequest = (request) => fetch(request, { unix: socket });
    return use(createCall(send), createStream(send));
  }
  const create = createIfEmpty && readFolderUse(folder) === "empty";
  const kind = create ? "site" : null;
  const appliance = await openAppliance({
    folder,
    identityName,
    kind,
    create,
    holder: "command",
  });
  try {
    const app = createApp(appliance, socketGate);
    const send: SendRequest = async (request) => {
      // A server that runs the same appliance from another folder would not know of the change.
      if (request.method !== "GET") await refuseCopy(appliance.identity.key, folder, environment);
      return app.handle(request);
    };
    return await use(createCall(send), createStream(send));
  } finally {
    await appliance.close();
  }
}

async function isServerListening(unix: string): Promise<boolean> {
  try {
    await fetch("http://berth/api/v4/health", { unix });
    return true;
  } catch {
    return false;
  }
}

type AdminClientUser<T> = (call: AdminCall, stream: AdminStream) => Promise<T>;
type SendRequest = (request: Request) => Promise<Response>;

const createStream =
  (send: SendRequest): AdminStream =>
  async (path) => {
    const response = await send(new Request(`http://appliance${path}`));
    if (!response.ok) throw toFailure(await response.json());
    return readToEnd(response.body ?? new ReadableStream());
  };

async function* readToEnd(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {
    throw new Failure(
      "the server's response was interrupted",
      "check the data folder with berth verify, and the server's log for the cause",
    );
  }
}

const createCall =
  (send: SendRequest): AdminCall =>
  async (method, path, body) => {
    const request = new Request(`http://appliance${path}`, {
      method,
      ...(body && {
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
    });
    const response = await send(request);
    const reply: unknown = await response.json();
    if (response.ok) return reply;
    throw toFailure(reply);
  };

function toFailure(reply: unknown): Failure {
  const { code, message } = reply as { readonly code: string; readonly message: string };
  return new ServerRefused(code, message, "");
}
