import type { DataFolderKind } from "../domain/state.ts";
import type { AccessPolicy } from "../http/server.ts";
import { getStringFlag, type FlagValues } from "./command.ts";
import { describeError, type Refusal } from "./error-report.ts";
import { parseListenAddress, type ListenAddress } from "./listen-address.ts";
import { checkAddress, type TlsEndpoint } from "./listeners.ts";
import { checkTlsFlags, readAccessPolicy } from "./access-policy.ts";
import { readCertificate } from "./tls-files.ts";

export interface StartSettings {
  readonly plain: ListenAddress;
  /** Null: TLS is not spoken. */
  readonly tls: TlsEndpoint | null;
  readonly policy: AccessPolicy;
}

/** What a server is started with, checked before a folder is made or a port is taken. */
export function readStartSettings(
  given: FlagValues,
  folder: string,
  kind: DataFolderKind,
): StartSettings {
  const plain = parseListenAddress(getStringFlag(given, "listen") ?? "") ?? { host: "", port: 0 };
  const tls = parseListenAddress(getStringFlag(given, "listen-tls") ?? "");
  const policy = readAccessPolicy(given, kind);
  checkTlsFlags(given, policy, plain, tls);
  const read = () => readCertificate(given, folder);
  return { plain, tls: tls && { ...tls, readCertificate: read, certificate: read() }, policy };
}

/** The first reason for which a start would be refused; null: there is none. */
export async function findStartRefusal(
  given: FlagValues,
  folder: string,
  listens: readonly string[],
): Promise<Refusal | null> {
  try {
    readStartSettings(given, folder, "site");
    for (const listen of listens) await checkAddress(parseListenAddress(listen));
    return null;
  } catch (error) {
    return describeError(error).refusal;
  }
}
