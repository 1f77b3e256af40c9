import { verifyAcknowledgement } from "../../license/documents/acknowledgement.ts";
import { describeDocumentFault } from "../../license/documents/document-fault.ts";
import type { Vendor } from "../../license/documents/trust.ts";
import { verifyUsageStatement } from "../../license/documents/usage-statement.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import type { StatementEntry } from "../ledger/ledger-entries.ts";

/** The problem of a ledger line with a statement; null: it is valid. */
export async function verifyStatementEntry(
  entry: StatementEntry,
  vendor: Vendor,
): Promise<string | null> {
  const verified = await verifyUsageStatement(entry.document);
  if (!verified.ok) return `contains a statement that ${describeDocumentFault(verified.fault)}`;
  const { iss, aud, n, from, to } = verified.value.statement;
  const isSame =
    iss === entry.appliance &&
    aud === vendor.vendor &&
    n === entry.n &&
    from === entry.from &&
    to === entry.to &&
    sha256(entry.document) === entry.digest;
  if (!isSame) return "differs from the statement that it contains";
  const answer = await verifyAcknowledgement(entry.acknowledgement, [vendor]);
  if (!answer.ok) {
    return `contains an acknowledgement that ${describeDocumentFault(answer.fault)}`;
  }
  const { ack } = answer.value;
  const isAnswer = ack.appliance === iss && ack.n === n && ack.digest === entry.digest;
  return isAnswer ? null : "contains an acknowledgement of another statement";
}
