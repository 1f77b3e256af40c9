import type { DataFolderKind } from "../../domain/state.ts";
import type { AccessPolicy } from "../../http/server.ts";
import { getStringFlag, type FlagValues } from "../frame/command.ts";
import { describeError, type Refusal } from "../frame/error-report.ts";
import { parseListenAddress, type ListenAddress } from "./listen-address.ts";
import { checkAddress, type TlsEndpoint } from "./listeners.ts";
import { checkTlsFlags, readAccessPolicy } from "./access-policy.ts";
import { readCertificate } from "../tls/tls-files.ts";

export interface StartSettings {
  readonly plain: ListenAddress;
  /** Null: no TLS listener. */
  readonly tls: TlsEndpoint | null;
  readonly policy: AccessPolicy;
}

/** Reads and checks the start settings, before a folder is created or a port is opened. */
export function readStartSettings(
  flags: FlagValues,
  folder: string,
  kind: DataFolderKind,
): StartSettings {
  const plain = parseListenAddress(getStringFlag(flags, "listen") ?? "") ?? { host: "", port: 0 };
  const tls = parseListenAddress(getStringFlag(flags, "listen-tls") ?? "");
  const policy = readAccessPolicy(flags, kind);
  checkTlsFlags(flags, policy, plain, tls);
  const read = () => readCertificate(flags, folder);
  return { plain, tls: tls && { ...tls, readCertificate: read, certificate: read() }, policy };
}

/** The first reason why a start would be refused; null: there is none. */
export async function findStartRefusal(
  flags: FlagValues,
  folder: string,
  listenAddresses: readonly string[],
): Promise<Refusal | null> {
  try {
    readStartSettings(flags, folder, "site");
    for (const address of listenAddresses) await checkAddress(parseListenAddress(address));
    return null;
  } catch (error) {
    return describeError(error).refusal;
  }
}
