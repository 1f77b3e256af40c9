import { existsSync } from "node:fs";
import { treaty } from "@elysiajs/eden";
import { MINUTE, SECOND } from "../../domain/time.ts";
import { createApp, type App } from "../../http/app.ts";
import {
  AUDIENCE_HEADER,
  COMMAND_LINE_AUDIENCE,
  type CommandLineRefusal,
} from "../../http/faults.ts";
import { socketGate } from "../../http/access/gate.ts";
import type { Environment } from "../../platform/environment.ts";
import { runAsFolderOwner } from "../../platform/files/owner.ts";
import { readFolderUse } from "../../operations/folder/folder-contents.ts";
import { isServed } from "../../operations/folder/folder-error.ts";
import { refuseCopy } from "../../operations/folder/appliance-claim.ts";
import { openAppliance, socketPath } from "../serve/appliance.ts";
import { readSiteSettings } from "../serve/site-settings.ts";
import { Failure, ServerRefused } from "../frame/command.ts";
import { printNote } from "../frame/terminal.ts";
import type { ConfigFile } from "../frame/options.ts";

/** The options that name a site. */
export interface Site {
  readonly data: string;
  /** The name to bind licenses to if no hardware can be identified. */
  readonly identity: string | null;
}

export interface ClientContext {
  readonly environment: Environment;
  readonly settingsFile?: ConfigFile | null;
  /** Creates a site in an empty folder, so that access can be restricted before the first start. */
  readonly createIfEmpty?: boolean;
}

/** The API of an appliance, whether its server is running or not; typed as the page's client. */
export interface AdminClient {
  readonly admin: Api["admin"]["v1"];
  readonly v4: Api["v4"];
  /** Calls a route of `/api` that replies with a stream. */
  readonly stream: (path: string) => Promise<AsyncIterable<Uint8Array>>;
}

type Api = ReturnType<typeof treaty<App>>["api"];

/**
 * Calls the running server through its socket. Without a server, opens the folder under its lock
 * and calls the same routes there. Never both at once.
 */
export const withAdminClient = <T>(
  site: Site,
  context: ClientContext,
  use: (client: AdminClient) => Promise<T>,
): Promise<T> => runAsFolderOwner(site.data, () => openAdminClient(site, context, use));

/** Calls the running server through its socket; null: there is none. */
export const withRunningServer = <T>(
  data: string,
  use: (client: AdminClient) => Promise<T>,
): Promise<T | null> =>
  runAsFolderOwner(data, async () => {
    const client = await findRunningServer(data);
    return client && use(client);
  });

async function findRunningServer(data: string): Promise<AdminClient | null> {
  const socket = socketPath(data);
  return existsSync(socket) && (await isServerListening(socket))
    ? createClient((request) => fetch(request, { unix: socket }))
    : null;
}

async function openAdminClient<T>(
  { data, identity }: Site,
  { environment, settingsFile = null, createIfEmpty = false }: ClientContext,
  use: (client: AdminClient) => Promise<T>,
): Promise<T> {
  const server = await findRunningServer(data);
  if (server !== null) return use(server);
  const create = createIfEmpty && readFolderUse(data) === "empty";
  const appliance = await openAppliance({
    folder: data,
    identityName: identity,
    kind: create ? "site" : null,
    create,
    holder: "command",
    siteSettings: () => readSiteSettings(data, environment, settingsFile),
  }).catch((error: unknown) => {
    if (!isServed(error)) throw error;
    throw new Failure(error.message, unreachableServerHint(data), "folder_in_use");
  });
  try {
    const app = createApp(appliance, socketGate);
    const client = createClient(async (request) => {
      // A server that runs the same appliance from another folder would not know of the change.
      if (request.method !== "GET") await refuseCopy(appliance.identity.key, data, environment);
      return app.handle(request);
    });
    return await use(client);
  } finally {
    await appliance.close();
  }
}

const unreachableServerHint = (data: string): string =>
  `that server does not answer on ${socketPath(data)}: it is starting, or could not create the socket, and its log says why; until it is restarted, use the web page or the API`;

async function isServerListening(unix: string): Promise<boolean> {
  try {
    await fetch("http://berth/api/v4/health", { unix });
    return true;
  } catch {
    return false;
  }
}

type SendRequest = (request: Request) => Promise<Response>;

const ORIGIN = "http://appliance";

function createClient(send: SendRequest): AdminClient {
  const sendOnce = (url: string, init?: RequestInit) => {
    const request = new Request(url, init);
    request.headers.set(AUDIENCE_HEADER, COMMAND_LINE_AUDIENCE);
    return send(request);
  };
  const fetcher = (url: string, init?: RequestInit) => repeatWhileBusy(() => sendOnce(url, init));
  const { api } = treaty<App>(ORIGIN, { fetcher: fetcher as typeof fetch, parseDate: false });
  return {
    admin: api.admin.v1,
    v4: api.v4,
    async stream(path) {
      const response = await fetcher(`${ORIGIN}${path}`);
      if (!response.ok) throw toFailure(await response.json());
      return readToEnd(response.body ?? new ReadableStream());
    },
  };
}

/** So long a command waits for the long jobs of others. */
const MAX_WAIT = 10 * MINUTE;

/** A server that has too many long jobs says when to try again. */
async function repeatWhileBusy(send: () => Promise<Response>): Promise<Response> {
  const end = performance.now() + MAX_WAIT;
  for (let wasTold = false; ; wasTold = true) {
    const response = await send();
    const delay = Number(response.headers.get("retry-after") ?? 0) * SECOND;
    const isBusy = response.status === 503 && delay > 0 && (await isTooManyJobs(response));
    if (!isBusy || performance.now() + delay > end) return response;
    if (!wasTold) printNote("the server is busy with other long jobs; waiting for it");
    await Bun.sleep(delay);
  }
}

async function isTooManyJobs(response: Response): Promise<boolean> {
  const { code } = (await response.clone().json()) as Pick<CommandLineRefusal, "code">;
  return code === "too_many_jobs";
}

interface TreatyReply<T> {
  readonly data: T | null;
  readonly error: { readonly value: unknown } | null;
  /** Absent: the request could not be sent. */
  readonly response: Response | undefined;
}

/**
 * Returns the reply; a refusal becomes a `Failure` with the server's code. The client throws only if
 * the reply ended early.
 */
export async function unwrapReply<T>(pending: Promise<TreatyReply<T>>): Promise<T> {
  const { data, error, response } = await pending.catch(failAsInterrupted);
  if (error === null) return data as T;
  throw response === undefined ? error.value : toFailure(error.value);
}

async function* readToEnd(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {
    failAsInterrupted();
  }
}

function failAsInterrupted(): never {
  throw new Failure(
    "the server's response was interrupted",
    "check the data folder with berth verify, and the server's log for the cause",
  );
}

const OLDER_SERVER_HINT =
  "the server is of an older version than this command; berth status shows it: upgrade the server";

function toFailure(reply: unknown): Failure {
  // A server of an older version may send no hint, and may lack the route of this command.
  const { code, message, hint } = reply as Partial<Pick<CommandLineRefusal, "hint">> &
    Pick<CommandLineRefusal, "code" | "message">;
  const fallback = code === "not_found" ? OLDER_SERVER_HINT : "";
  return new ServerRefused(code, message, hint || fallback);
}

/**
 * The fields of a request that are set: a field of the API is absent, not null. Which fields there
 * are follows from where the result is used, so it must be used at once.
 */
export function setFields<Fields extends object>(fields: Nullable<NoInfer<Fields>>): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Fields;
}

type Nullable<Fields> = {
  readonly [Name in keyof Fields]: object extends Pick<Fields, Name>
    ? Fields[Name] | null
    : Fields[Name];
};
