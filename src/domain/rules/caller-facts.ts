import type { Contact } from "../slots/contact.ts";
import type { FeatureRegistration, Registration } from "../slots/registration.ts";
import type { CallerFacts, Identity } from "./rule-set.ts";

export const factsOf = (
  user: string,
  { hostname, peer }: Pick<Contact, "hostname" | "peer">,
  identity: Identity | null,
): CallerFacts => ({
  user,
  host: hostname,
  address: addressOf(peer),
  login: identity?.login ?? null,
  certificate: identity?.certificate ?? null,
});

/** The address of a peer: on the admin plane, the name of a credential is before it. */
const addressOf = (peer: string): string => peer.slice(peer.lastIndexOf("@") + 1);

/** The facts of a holder as they were when its slot was granted. */
export const factsOfHolder = (holder: Registration | FeatureRegistration): CallerFacts =>
  factsOf(holder.user, holder.takenFrom, holder.identity);
