import { accessSync, constants } from "node:fs";
import { messageOfError } from "../../platform/error-message.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { withRunningServer } from "../client/admin-client.ts";
import { readInputBytes } from "../files/input-file.ts";
import { Failure } from "../frame/command.ts";
import { Misuse } from "../frame/options.ts";

/** No server answers: that is a finding, and not a mistake of the command line. */
export class ServerDown extends Error {
  override readonly name = "ServerDown";
}

const TIMEOUT_MS = 10_000;

/** The metrics of the server of a data folder, through its socket. */
export async function fetchLocalMetrics(data: string): Promise<string> {
  refuseUnreadableFolder(data);
  const text = await withRunningServer(data, async ({ stream }) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await stream("/metrics")) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  });
  if (text === null) throw new ServerDown(`no server is running on ${data}`);
  return text;
}

function refuseUnreadableFolder(data: string): void {
  try {
    accessSync(data, constants.X_OK);
  } catch (error) {
    if (errorCode(error) !== "EACCES") return;
    throw new Failure(
      `${data} cannot be read by this user`,
      "run it as root, or use --url with --token-file and a token with the role metrics",
    );
  }
}

export interface RemoteServer {
  readonly url: string;
  readonly tokenFile: string | null;
  readonly caFile: string | null;
}

/** The metrics at a URL: of the server itself, or of its listener for metrics. */
export async function fetchRemoteMetrics(server: RemoteServer): Promise<string> {
  const { url, tokenFile, caFile } = server;
  const address = metricsUrl(url);
  const token = tokenFile === null ? null : readText(tokenFile, "a token");
  const ca = caFile === null ? null : readText(caFile, "a certificate");
  let response: Response;
  try {
    response = await fetch(address, {
      headers: {
        accept: "text/plain;version=0.0.4",
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(ca !== null && { tls: { ca } }),
    });
  } catch (error) {
    throw new ServerDown(`${address} does not answer: ${messageOfError(error)}`);
  }
  const text = await response.text();
  if (response.status >= 500) throw new ServerDown(`${address} answers ${response.status}`);
  if (response.status === 200) return text;
  throw new Failure(
    `${address} answers ${response.status}`,
    "create a token with berth admin token --role metrics, and name its file with --token-file",
  );
}

const readText = (path: string, what: string): string =>
  new TextDecoder().decode(readInputBytes(path, what)).trim();

function metricsUrl(url: string): string {
  const hint = "for example --url https://berth.plant7.lan:8443";
  if (!URL.canParse(url)) throw new Misuse("--url must be a URL", hint);
  const { origin, protocol } = new URL(url);
  if (protocol !== "http:" && protocol !== "https:") {
    throw new Misuse("--url must begin with http:// or https://", hint);
  }
  return `${origin}/metrics`;
}
