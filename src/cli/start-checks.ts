import type { DataFolderKind } from "../domain/state.ts";
import type { AccessPolicy } from "../http/server.ts";
import { stringOf, type Given } from "./command.ts";
import { describeError, type Refusal } from "./error-report.ts";
import { parseListen, type Address } from "./listen.ts";
import { checkAddress, type Secure } from "./listeners.ts";
import { checkTlsFlags, policyOf } from "./policy.ts";
import { readCertificate } from "./tls-files.ts";

export interface StartSettings {
  readonly plain: Address;
  /** Null: TLS is not spoken. */
  readonly secure: Secure | null;
  readonly policy: AccessPolicy;
}

/** What a server is started with, checked before a folder is made or a port is taken. */
export function readStartSettings(
  given: Given,
  folder: string,
  kind: DataFolderKind,
): StartSettings {
  const plain = parseListen(stringOf(given, "listen") ?? "") ?? { host: "", port: 0 };
  const tls = parseListen(stringOf(given, "listen-tls") ?? "");
  const policy = policyOf(given, kind);
  checkTlsFlags(given, policy, plain, tls);
  const read = () => readCertificate(given, folder);
  return { plain, secure: tls && { ...tls, read, certificate: read() }, policy };
}

/** The first reason for which a start would be refused; null: there is none. */
export async function findStartRefusal(
  given: Given,
  folder: string,
  listens: readonly string[],
): Promise<Refusal | null> {
  try {
    readStartSettings(given, folder, "site");
    for (const listen of listens) await checkAddress(parseListen(listen));
    return null;
  } catch (error) {
    return describeError(error).refusal;
  }
}
