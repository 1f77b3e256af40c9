import { verifyAcknowledgement } from "../../license/documents/acknowledgement.ts";
import { describeDocumentFault } from "../../license/documents/document-fault.ts";
import type { Vendor } from "../../license/documents/trust.ts";
import { verifyUsageStatement } from "../../license/documents/usage-statement.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import type { StatementEntry } from "../ledger/ledger-entries.ts";
import type { StatementDocuments } from "../ledger/statement-file.ts";

/** The problem of a ledger line with a statement; null: it is valid. */
export async function verifyStatementEntry(
  entry: StatementEntry,
  { document, acknowledgement }: StatementDocuments,
  vendor: Vendor,
): Promise<string | null> {
  const verified = await verifyUsageStatement(document);
  if (!verified.ok) return `belongs to a statement that ${describeDocumentFault(verified.fault)}`;
  const { iss, aud, n, from, to } = verified.value.statement;
  const isSame =
    iss === entry.appliance &&
    aud === vendor.vendor &&
    n === entry.n &&
    from === entry.from &&
    to === entry.to &&
    sha256(document) === entry.digest;
  if (!isSame) return "differs from its statement in statements.jsonl";
  const answer = await verifyAcknowledgement(acknowledgement, [vendor]);
  if (!answer.ok) {
    return `belongs to an acknowledgement that ${describeDocumentFault(answer.fault)}`;
  }
  const { ack } = answer.value;
  const isAnswer = ack.appliance === iss && ack.n === n && ack.digest === entry.digest;
  return isAnswer ? null : "belongs to an acknowledgement of another statement";
}
