import type { LicenseFileFault } from "../faults/fault-types.ts";
import type { DocumentKind } from "../license/document.ts";
import { describeDocumentKind, findMismatchedKind } from "../license/document-kinds.ts";

/** The fault of a Berth document of the wrong kind; null: the right kind, or no Berth document. */
export function checkDocumentKind(text: string, wanted: DocumentKind): LicenseFileFault | null {
  const kind = findMismatchedKind(text, wanted);
  if (kind === null) return null;
  return { code: "invalid_license_file", reason: `is ${describeDocumentKind(kind)}` };
}
