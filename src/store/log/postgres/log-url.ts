import type { SocketAddress, TlsOptions } from "./log-socket.ts";

/** Where the database of a pair is. */
export interface LogUrl {
  /** As the operator wrote it; it has no password. */
  readonly text: string;
  readonly hosts: readonly SocketAddress[];
  readonly database: string;
  readonly user: string;
  readonly sslmode: TlsOptions["mode"];
  /** The file with the certificate that signed the server's; null: those of the system. */
  readonly sslrootcert: string | null;
}

export interface LogUrlProblem {
  readonly message: string;
  readonly hint: string;
}

const EXAMPLE =
  "for example postgres://berth@db1.site:5432,db2.site:5432/berth?sslmode=verify-full";
const PATTERN =
  /^postgres(?:ql)?:\/\/(?:([^:@/?#\s]+)(:[^@/?#\s]*)?@)?([^/?#\s@]*)\/([\w.%-]*)(?:\?([^#\s]*))?$/;
const HOST = /^(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/;
const SSL_MODES = ["disable", "prefer", "require", "verify-full"] as const;
const DEFAULT_PORT = 5432;

/** Reads the setting `pair_log`. A message continues the name of the setting. */
export function parseLogUrl(text: string): LogUrl | LogUrlProblem {
  const match = PATTERN.exec(text);
  if (match === null) {
    return { message: "is not a URL of a PostgreSQL database", hint: EXAMPLE };
  }
  const [, encodedUser, password, hostList = "", encodedDatabase = "", query = ""] = match;
  if (password !== undefined) {
    return {
      message: "contains a password, which every user of this host could read",
      hint: "remove it, and write it to a file: --pair-log-password-file FILE",
    };
  }
  const user = decode(encodedUser);
  const database = decode(encodedDatabase);
  if (user === null || database === null) {
    return { message: "names no user or no database", hint: EXAMPLE };
  }
  const hosts = hostList.split(",").map(parseHost);
  if (hosts.some((host) => host === null)) {
    return { message: `has a wrong host in “${hostList}”`, hint: EXAMPLE };
  }
  const options = new URLSearchParams(query);
  const unknown = [...options.keys()].find((name) => !["sslmode", "sslrootcert"].includes(name));
  if (unknown !== undefined) {
    return {
      message: `has an unknown option: ${unknown}`,
      hint: "only sslmode and sslrootcert are known",
    };
  }
  const sslrootcert = options.get("sslrootcert");
  const sslmode = options.get("sslmode") ?? (sslrootcert === null ? "prefer" : "verify-full");
  const knownMode = SSL_MODES.find((mode) => mode === sslmode);
  if (knownMode === undefined) {
    return {
      message: `has an unknown sslmode: ${sslmode}`,
      hint: `write ${SSL_MODES.join(", ")}`,
    };
  }
  if (sslrootcert !== null && knownMode !== "verify-full") {
    return {
      message: `has a certificate that sslmode=${knownMode} does not use`,
      hint: "write sslmode=verify-full, or leave out sslrootcert",
    };
  }
  return {
    text,
    hosts: hosts.filter((host) => host !== null),
    database,
    user,
    sslmode: knownMode,
    sslrootcert,
  };
}

/** Null: there is none, or it is not encoded correctly. */
function decode(text: string | undefined): string | null {
  try {
    return decodeURIComponent(text ?? "") || null;
  } catch {
    return null;
  }
}

function parseHost(text: string): SocketAddress | null {
  const match = HOST.exec(text);
  if (match === null) return null;
  const port = match[2] === undefined ? DEFAULT_PORT : Number(match[2]);
  const host = match[1]?.replace(/^\[|\]$/g, "") ?? "";
  return port >= 1 && port <= 65_535 ? { host, port } : null;
}
