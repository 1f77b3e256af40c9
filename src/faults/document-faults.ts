import { describeCodeFault } from "../license/codes/code.ts";
import { describeDocumentFault } from "../license/documents/document-fault.ts";
import { describeFrameFault } from "../license/qr/frame-fault.ts";
import type { FaultRows } from "./fault-row.ts";
import type {
  ConfirmationCodeFault,
  LicenseFileFault,
  QrFramesFault,
  RequestFault,
  TrustClosedFault,
} from "./fault-types.ts";

type DocumentCode =
  | LicenseFileFault["code"]
  | TrustClosedFault["code"]
  | QrFramesFault["code"]
  | Exclude<ConfirmationCodeFault["code"], RequestFault["code"]>;

/** Files, codes and QR codes that cannot be accepted. */
export const DOCUMENT_FAULTS: FaultRows<DocumentCode> = {
  invalid_license_file: {
    status: 400,
    message: ({ problem }) => `the file ${describeDocumentFault(problem)}`,
    hint: "berth vendor inspect FILE shows the kind of a file",
    sample: { problem: { wrong: "form" } },
  },
  invalid_confirmation_code: {
    status: 400,
    message: ({ problem }) =>
      problem === null
        ? "the code does not fit this appliance, this policy and this license key; check all three"
        : describeCodeFault(problem),
    hint: ({ problem }) =>
      problem === null
        ? "ask the vendor to read it out again, or start again with berth airgap request"
        : "ask the vendor to read this row again",
    sample: { problem: { wrong: "row", row: 2 } },
  },
  policy_mismatch: {
    status: 400,
    message: () => "policy_id is not the id of this policy; correct or omit it",
    commandLineMessage: () => "the policy has another id",
    hint: "omit --policy-id, or use the policy that it belongs to",
  },
  trust_locked: {
    status: 400,
    message: () => "this build of berth trusts only the vendor it was built for",
  },
  invalid_qr_frames: {
    status: 400,
    message: ({ problem }) => `the QR codes cannot be joined: ${describeFrameFault(problem)}`,
    sample: { problem: { wrong: "missing", frames: [2], of: 3 } },
  },
};
