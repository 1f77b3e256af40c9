import type { Fault } from "../fault.ts";
import { limits } from "../limits.ts";
import type { OpenActivation, OpenRequest, RequestHead, State } from "../state.ts";
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
  closed: answeredRequests.has(id) ? "answered" : cancelledRequests.has(id) ? "cancelled" : null,
});

/** The heads that a request reports: its own is the last one. */
export function findReportedHeads(state: State, request: string): readonly RequestHead[] {
  const end = state.requestHeads.findIndex((head) => head.request === request) + 1;
  return state.requestHeads.slice(Math.max(0, end - limits.requestHeads), end);
}
