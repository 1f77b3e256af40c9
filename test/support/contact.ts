import { completeContact, type Contact } from "../../src/domain/model/slots/contact.ts";

/** The contact of a registration: the given fields, and empty ones. */
export const makeContact = (given: Partial<Contact>): Contact => completeContact(given);
