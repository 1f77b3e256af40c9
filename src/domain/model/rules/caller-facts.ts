import type { Contact } from "../slots/contact.ts";

/** What the rules know of a caller. Claimed and observed facts are kept apart. */
export interface CallerFacts {
  /** The user name as it was sent; groups and limits look at its person. */
  readonly user: string;
  /** The host name as it was sent; empty: none. */
  readonly host: string;
  /** The address of the connection, without a credential's name. */
  readonly address: string;
  /** Null: the caller did not log in. */
  readonly login: string | null;
  /** Null: the caller's certificate is not known. */
  readonly certificate: string | null;
}

/** What was observed of a caller besides its address; at least one is not null. */
export type Identity = Pick<CallerFacts, "login" | "certificate">;

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

interface SlotTaker {
  readonly user: string;
  readonly takenFrom: Pick<Contact, "hostname" | "peer">;
  readonly identity: Identity | null;
}

/** The facts of a holder as they were when its slot was granted. */
export const factsOfHolder = ({ user, takenFrom, identity }: SlotTaker): CallerFacts =>
  factsOf(user, takenFrom, identity);
