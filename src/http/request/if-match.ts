import { refuse } from "../faults.ts";

const ENTITY_TAG = /^(?:W\/)?"[!#-~\u0080-\u00ff]*"$/;
const MAX_LENGTH = 4_096;

/**
 * The tags of an If-Match header (RFC 9110, section 13.1.1), without their quotes; `*`: any. Weak
 * tags never match, so they are left out. A request without the header is refused.
 */
export function readIfMatch({ headers }: Request): "*" | readonly string[] {
  const value = headers.get("if-match")?.trim();
  if (value === undefined) return refuse({ code: "precondition_required" });
  if (value === "*") return "*";
  const tags = value.length > MAX_LENGTH ? [""] : value.split(",").map((tag) => tag.trim());
  if (!tags.every((tag) => ENTITY_TAG.test(tag))) {
    return refuse({
      code: "invalid_parameter",
      field: "If-Match",
      expected: "a digest in double quotes, or *",
    });
  }
  return tags.filter((tag) => !tag.startsWith("W/")).map((tag) => tag.slice(1, -1));
}
