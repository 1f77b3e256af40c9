import type { Fault } from "../model/fault.ts";
import { limits } from "../model/limits.ts";
import { err, ok, type Result } from "../result.ts";
import type { OpenActivation, OpenRequest, RequestHead, State } from "../model/state.ts";
import { later, type Instant } from "../time.ts";

/** Whether the vendor may still answer a request. */
export const isRequestOpen = ({ at: createdAt }: OpenRequest, at: Instant): boolean =>
  at < later(createdAt, limits.requestAge);

/** Whether the vendor may still confirm an activation. */
export const isActivationOpen = ({ at: createdAt }: OpenActivation, at: Instant): boolean =>
  at < later(createdAt, limits.activationAge);

/** The requests that a vendor may still answer, oldest first. */
export const findOpenRequests = (state: State, at: Instant): OpenRequest[] =>
  [...state.requests.values()].filter((request) => isRequestOpen(request, at));

/** The refusal for an id that no open request or activation has. */
export const requestNotFound = (
  { answeredRequests, cancelledRequests }: State,
  id: string,
): Extract<Fault, { readonly code: "request_not_found" }> => ({
  code: "request_not_found",
  reason: answeredRequests.has(id) ? "answered" : cancelledRequests.has(id) ? "cancelled" : null,
});

/** The open request with this id, if the document that it was created with can be signed again. */
export function findRequestToShow(
  state: State,
  id: string,
  at: Instant,
): Result<OpenRequest, Fault> {
  const open = state.requests.get(id);
  if (open === undefined || !isRequestOpen(open, at)) return err(requestNotFound(state, id));
  return findReportedHeads(state, id) === null
    ? err({ code: "request_not_found", reason: "outdated" })
    : ok(open);
}

/** The heads that a request reports: its own is the last one. Null: some of them were dropped. */
export function findReportedHeads(
  { requestHeads }: State,
  request: string,
): readonly RequestHead[] | null {
  const end = requestHeads.findIndex((head) => head.request === request) + 1;
  const start = end - limits.requestHeads;
  const isDropped = start < 0 && requestHeads.length >= limits.keptRequestHeads;
  return end === 0 || isDropped ? null : requestHeads.slice(Math.max(0, start), end);
}
