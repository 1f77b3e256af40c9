import { existsSync } from "node:fs";
import { createApp } from "../http/app.ts";
import { socketGate } from "../http/gate.ts";
import { realDisk } from "../platform/disk.ts";
import type { Environment } from "../platform/options.ts";
import { asOwnerOf } from "../platform/owner.ts";
import { isEmptyFolder } from "../store/folder.ts";
import { refuseCopy } from "./appliance-claim.ts";
import { openAppliance, socketIn } from "./appliance.ts";
import { Failure } from "./command.ts";
import { hintFor } from "./refusal-hints.ts";

/** Calls the administration of one appliance, running or not. */
export type Call = (method: "GET" | "POST", path: string, body?: object) => Promise<unknown>;

/** What it answers as a stream, part by part. */
export type Stream = (path: string) => Promise<AsyncIterable<Uint8Array>>;

export interface Place {
  readonly folder: string;
  readonly named: string | null;
  readonly environment: Environment;
  /** An empty folder becomes a site's: it can be closed before it is ever served. */
  readonly begin?: boolean;
}

/**
 * Talks to the running server through its socket; with none, opens the folder under its lock and
 * asks the same routes there. Never both ways at once.
 */
export const reach = <T>(place: Place, use: Use<T>): Promise<T> =>
  asOwnerOf(place.folder, () => reachAsOwner(place, use));

async function reachAsOwner<T>(place: Place, use: Use<T>): Promise<T> {
  const { folder, named, environment, begin = false } = place;
  const socket = socketIn(folder);
  if (existsSync(socket) && (await answers(socket))) {
    const send: Send = (request) => fetch(request, { unix: socket });
    return use(caller(send), streamer(send));
  }
  const create = begin && realDisk.stat(folder) !== null && isEmptyFolder(realDisk, folder);
  const kind = create ? "site" : null;
  const appliance = await openAppliance({ folder, named, kind, create, holder: "command" });
  try {
    const app = createApp(appliance, socketGate);
    const send: Send = async (request) => {
      // A change of a copy would be unknown to the server that has the same appliance.
      if (request.method !== "GET") await refuseCopy(appliance.identity.key, folder, environment);
      return app.handle(request);
    };
    return await use(caller(send), streamer(send));
  } finally {
    await appliance.operations.close();
  }
}

async function answers(unix: string): Promise<boolean> {
  try {
    await fetch("http://berth/api/v4/health", { unix });
    return true;
  } catch {
    return false;
  }
}

type Use<T> = (call: Call, stream: Stream) => Promise<T>;
type Send = (request: Request) => Promise<Response>;

const streamer =
  (send: Send): Stream =>
  async (path) => {
    const response = await send(new Request(`http://appliance${path}`));
    if (!response.ok) throw refusal(await response.json());
    return toTheEnd(response.body ?? new ReadableStream());
  };

async function* toTheEnd(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {
    throw new Failure(
      "the server's response was interrupted",
      "check the data folder with berth verify, and the server's log for the cause",
    );
  }
}

const caller =
  (send: Send): Call =>
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
    throw refusal(reply);
  };

function refusal(reply: unknown): Failure {
  const { code, message } = reply as { readonly code: string; readonly message: string };
  return new Failure(`${message} (${code})`, hintFor(code, message), code);
}
