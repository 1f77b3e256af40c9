// The options --peer and --peer-…: another server that takes a heartbeat, and how its request looks.

/** `{user}`, `{hostname}` and `{index}` in the texts are replaced for each user. */
export interface PeerRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Lines without their end. */
  readonly headers: readonly string[];
  /** Null: the body of Berth's heartbeat. */
  readonly body: string | null;
}

export interface Peer {
  readonly name: string;
  /** Without path. */
  readonly url: string;
  readonly request: PeerRequest;
}

/** A wrong option; the message says which. */
export class WrongOption extends Error {}

export const PEER_OPTIONS = {
  peer: { type: "string", multiple: true },
  "peer-method": { type: "string", multiple: true },
  "peer-body": { type: "string", multiple: true },
  "peer-header": { type: "string", multiple: true },
} as const;

/** An option in the order of the command line. */
interface OptionToken {
  readonly name: string;
  readonly value: string;
}

/** Each --peer-… belongs to the --peer before it. */
export function parsePeers(
  tokens: readonly OptionToken[],
  takenNames: readonly string[],
): readonly Peer[] {
  const peers: Peer[] = [];
  for (const { name, value } of tokens) {
    if (name === "peer") {
      peers.push(parsePeer(value, [...takenNames, ...peers.map((peer) => peer.name)]));
    } else if (name.startsWith("peer-")) {
      const peer = peers.pop();
      if (peer === undefined) throw new WrongOption(`--${name} needs a --peer before it`);
      peers.push({ ...peer, request: changeRequest(peer.request, name, value) });
    }
  }
  return peers;
}

function parsePeer(text: string, takenNames: readonly string[]): Peer {
  const [, name = "", url = ""] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  if (!/^[\w.-]+$/.test(name))
    throw new WrongOption(`--peer must be NAME=URL, with letters and digits as name: ${text}`);
  if (takenNames.includes(name)) throw new WrongOption(`there are two servers named ${name}`);
  const [, origin = "", target = ""] = /^(http:\/\/[^/?#]+)([!-~]*)$/.exec(url) ?? [];
  if (!URL.canParse(origin) || target.includes("#"))
    throw new WrongOption(`the URL of peer ${name} must begin with http:// and an address: ${url}`);
  // A load test must not leave the machine.
  if (!/^(?:127(?:\.\d+){3}|\[::1\])$/.test(new URL(origin).hostname))
    throw new WrongOption(`the address of peer ${name} must be 127.0.0.1 or [::1]: ${url}`);
  const request = {
    method: "POST",
    target: target.startsWith("/") ? target : `/${target}`,
    headers: [],
    body: null,
  };
  return { name, url: new URL(origin).origin, request };
}

/** They are written from the body and for connections that stay open. */
const OWN_HEADERS = ["connection", "content-length", "transfer-encoding"];

function changeRequest(request: PeerRequest, name: string, value: string): PeerRequest {
  switch (name) {
    case "peer-method":
      // The end of an answer to HEAD cannot be found by its Content-Length.
      if (!/^[A-Z]+$/.test(value) || value === "HEAD")
        throw new WrongOption(`--peer-method must be a method such as PUT, but not HEAD: ${value}`);
      return { ...request, method: value };
    case "peer-body":
      return { ...request, body: value };
    default: {
      const field = /^([\w-]+):[ \t]*[ -~]*$/.exec(value)?.[1]?.toLowerCase();
      if (field === undefined || OWN_HEADERS.includes(field)) {
        const rule = `"NAME: VALUE", and none of ${OWN_HEADERS.join(", ")}`;
        throw new WrongOption(`--peer-header must be ${rule}: ${value}`);
      }
      return { ...request, headers: [...request.headers, value] };
    }
  }
}
