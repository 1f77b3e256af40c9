import type { LicenseRequest } from "../../license/requests/request.ts";
import { DeskRefused } from "../desk-refused.ts";
import type { IssueOptions } from "./issue-options.ts";
import type { IssuedEntry } from "../ledger/ledger-entries.ts";

type HostOptions = Pick<IssueOptions, "request" | "hosts">;

/**
 * The hardware ids of both hosts, for a license of two; null: it is for one host. Two hosts are
 * never granted without the vendor's word: a pair that is split on purpose can grant each slot
 * twice.
 */
export function chooseHosts(
  { request, hosts: wanted }: HostOptions,
  before: IssuedEntry | null,
): readonly string[] | null {
  const hadTwo = before?.hosts !== undefined;
  if (request === null) {
    if (wanted !== null && (wanted === 2) !== hadTwo) throw needsRequest(wanted);
    return before?.hosts ?? null;
  }
  const requested = request.pair?.hosts.map(({ hardware_id }) => hardware_id) ?? null;
  if (wanted === 1) return null;
  if (requested === null) {
    if (wanted === 2) throw needsRequest(2);
    if (!hadTwo) return null;
    throw new DeskRefused(
      `license ${before.license_id} is for two hosts, and the request is for one`,
      "--hosts 1 binds the license to that host; berth license request --hosts 2 at the site requests two",
    );
  }
  if (wanted === null && !hadTwo) throw needsConsent(request);
  return requested;
}

const needsRequest = (hosts: number): DeskRefused =>
  new DeskRefused(
    hosts === 2 ? "the request is for one host" : "a renewal from the ledger keeps both hosts",
    `ask the site for a new request: berth license request --hosts ${hosts}`,
  );

const needsConsent = ({ pair }: LicenseRequest): DeskRefused =>
  new DeskRefused(
    `the site asks for a license of two hosts, ${pair?.hosts.map(({ name }) => name).join(" and ")}`,
    `--hosts 2 grants it; --hosts 1 binds the license to ${pair?.leader} alone`,
  );
