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
  [
    { wrong: "kind", kind: "key" },
    "is the certificate of an issuing key: the vendor accepts it with berth vendor accept; documents contain it",
  ],
  [{ wrong: "signature" }, "has an invalid signature"],
  [{ wrong: "content", expected: "trust" }, "is not a vendor's trust document"],
  [{ wrong: "content", expected: "request" }, "is not a request"],
  [{ wrong: "content", expected: "license" }, "is not a license"],
  [{ wrong: "content", expected: "policy" }, "is not a policy"],
  [{ wrong: "content", expected: "receipt" }, "is not a receipt"],
  [{ wrong: "content", expected: "time" }, "is not a time document"],
  [
    { wrong: "certificate" },
    "has no valid certificate of its vendor's root for the key that signed it",
  ],
  [{ wrong: "signer" }, "is not signed by a trusted vendor"],
  [{ wrong: "contradiction" }, "contradicts itself"],
  [{ wrong: "other_vendor" }, "is not from the vendor of every license"],
  [{ wrong: "other_code" }, "answers another code"],
])("describeDocumentFault says what is wrong: %p", (fault, sentence) => {
  expect(describeDocumentFault(fault)).toBe(sentence);
});
