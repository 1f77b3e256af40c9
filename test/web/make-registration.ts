import type { RegistrationReply } from "../../src/http/routes/slots/registrations.ts";
import { contactReply } from "../../src/http/routes/slots/slot-reply.ts";
import { makeContact } from "../support/contact.ts";

/** A registration as the API lists it, for tests of the page. */
export const makeRegistration = (
  user: string,
  changes: Partial<RegistrationReply> = {},
): RegistrationReply => ({
  product: "CAD",
  license_id: 1,
  user,
  ...contactReply(makeContact({})),
  peer: "10.0.0.1",
  registered_at: "2026-03-02T09:00:00.000Z",
  last_seen_at: "2026-03-02T09:00:00.000Z",
  expires_at: "2026-03-02T09:30:00.000Z",
  borrowed_until: null,
  features: [],
  home: null,
  ...changes,
});
