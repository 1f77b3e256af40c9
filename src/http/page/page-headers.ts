import { isLocalRequest } from "../access/gate.ts";

/**
 * The policy of a page that loads from these sources and from nowhere else: nothing inline, no
 * frame, and no text that becomes markup or code. The pages make none, so none has a policy for it.
 */
export const pagePolicy = (...sources: readonly string[]): string =>
  [
    "default-src 'none'",
    ...sources,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");

/**
 * The headers of a page. One of another site that opens it gets no reference to it. Browsers ignore
 * that over plain HTTP from another machine, and report it as an error.
 */
export function pageHeaders(request: Request, policy: string): Record<string, string> {
  const isTrustworthy = request.url.startsWith("https:") || isLocalRequest(request);
  return {
    "content-security-policy": policy,
    ...(isTrustworthy && { "cross-origin-opener-policy": "same-origin" }),
  };
}
