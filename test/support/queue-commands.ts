// Commands of the queue, with defaults for everything that a test does not set.
import type { DropPlace, MovePlace } from "../../src/domain/queue/dispatch/change-place.ts";
import type { Dispatch } from "../../src/domain/queue/dispatch/dispatch.ts";
import type { PlaceFacts } from "../../src/domain/model/queue/place.ts";
import type { TakePlace } from "../../src/domain/queue/dispatch/take-place.ts";
import { CONTACT } from "./scenario.ts";

export const placeFacts = (differing: Partial<PlaceFacts> = {}): PlaceFacts => ({
  host: CONTACT.hostname,
  address: CONTACT.peer,
  login: null,
  certificate: null,
  ...differing,
});

export const takePlace = (
  user: string | null,
  differing: Partial<Omit<TakePlace, "type">> = {},
): TakePlace => ({
  type: "TakePlace",
  product: "cad",
  licenseId: null,
  user,
  facts: placeFacts(),
  peer: CONTACT.peer,
  ...differing,
});

export const dispatch = (product = "cad", lapsed: readonly string[] = []): Dispatch => ({
  type: "Dispatch",
  product,
  lapsed,
});

export const movePlace = (user: string, product = "cad"): MovePlace => ({
  type: "MovePlace",
  product,
  user,
  peer: "10.0.0.9",
});

export const dropPlace = (user: string, product = "cad"): DropPlace => ({
  type: "DropPlace",
  product,
  user,
  peer: "10.0.0.9",
});
