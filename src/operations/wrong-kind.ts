import type { Kind } from "../license/document.ts";
import { describeKind, otherKind } from "../license/kind-names.ts";
import type { FileFault } from "./licensing.ts";

/** A document of another kind than is taken here; null: of this kind, or no document of ours. */
export function wrongKind(text: string, wanted: Kind): FileFault | null {
  const kind = otherKind(text, wanted);
  if (kind === null) return null;
  return { code: "invalid_license_file", reason: `is ${describeKind(kind)}` };
}
