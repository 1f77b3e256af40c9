import { expect, test } from "bun:test";
import {
  describeDocumentFault,
  type LicenseRequestFault,
  type VendorFileFault,
} from "../../../src/license/documents/document-fault.ts";

test.each<[VendorFileFault | LicenseRequestFault, string]>([
  [{ wrong: "size" }, "is too large"],
  [{ wrong: "form" }, "is not a signed document"],
  [{ wrong: "kind", kind: "license" }, "is a license: install it with berth license add"],
  [{ wrong: "signature" }, "has an invalid signature"],
  [{ wrong: "content", expected: "trust" }, "is not a vendor's trust document"],
  [{ wrong: "content", expected: "request" }, "is not a request"],
  [{ wrong: "content", expected: "license" }, "is not a license"],
  [{ wrong: "content", expected: "policy" }, "is not a policy"],
  [{ wrong: "content", expected: "receipt" }, "is not a receipt"],
  [{ wrong: "content", expected: "time" }, "is not a time document"],
  [{ wrong: "retired_key" }, "is signed with a key that its vendor retired"],
  [{ wrong: "signer" }, "is not signed by a trusted vendor"],
  [{ wrong: "outdated" }, "is older than the installed one"],
  [
    { wrong: "unknown_vendor" },
    "is a successor document of a vendor that is not trusted here: add its trust.jwt first",
  ],
  [
    { wrong: "skipped_version", next: 3 },
    "is signed by a key that is not known here: add successor-3.jwt first",
  ],
  [{ wrong: "contradiction" }, "contradicts itself"],
  [
    { wrong: "dropped_key", license: 7 },
    "leaves out the key that license 7 is signed with; install that license signed with another key first",
  ],
  [{ wrong: "other_vendor" }, "is not from the vendor of every license"],
  [{ wrong: "other_code" }, "answers another code"],
])("describeDocumentFault says what is wrong: %p", (fault, sentence) => {
  expect(describeDocumentFault(fault)).toBe(sentence);
});
