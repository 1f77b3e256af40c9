import type { DocumentKind } from "../license/document.ts";
import { describeDocumentKind, findMismatchedKind } from "../license/document-kinds.ts";
import type { LicenseFileFault } from "./licensing.ts";

/** A document of another kind than is taken here; null: of this kind, or no document of ours. */
export function checkDocumentKind(text: string, wanted: DocumentKind): LicenseFileFault | null {
  const kind = findMismatchedKind(text, wanted);
  if (kind === null) return null;
  return { code: "invalid_license_file", reason: `is ${describeDocumentKind(kind)}` };
}
