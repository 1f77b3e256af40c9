/** What helps after a refusal, by its code. */
export const HINTS: Readonly<Record<string, string>> = {
  audit_maintenance_incomplete: "berth doctor says what is wrong with the disk",
  clock_suspect: "berth clock says which clock is wrong, and what to do",
  early_return_not_allowed: "berth slots shows until when it is borrowed",
  hardware_mismatch: "make a new request with berth license request",
  invalid_confirmation_code: "have it read out again, or ask anew with berth airgap request",
  invalid_license_file: "berth vendor inspect FILE shows what a file is",
  last_credential: "berth admin token, or berth admin password",
  license_not_found: "berth license list shows what is installed",
  audit_month_damaged: "berth audit repair",
  audit_month_empty: "berth audit --limit 1 shows how far it goes; months are those of UTC",
  outdated_confirmation_code: "the activation code stays open; the updated desk confirms it again",
  policy_mismatch: "leave --policy-id out, or take the policy it belongs to",
  audit_log_damaged:
    "berth verify says what is wrong; berth audit repair mends what can be mended",
  request_unknown: "make a new request with berth license request",
  request_used: "make a new request with berth license request",
  slots_borrowed: "berth slots shows who holds them; --with-borrows goes on",
  stale_license:
    "berth license list shows what is installed; berth license request asks for a newer one",
  storage_failed: "look after the disk; berth doctor says more",
  storage_full: "make room on the disk of the data folder",
  unknown_name: "berth admin user list shows them all",
  unknown_product:
    "berth license list shows what is installed; codes are compared letter by letter",
  unknown_vendor: "berth trust list shows them all",
  untrusted_vendor:
    "berth trust add FILE takes the vendor's trust document, or a newer successor document",
  user_not_registered: "berth slots shows who holds what; names are compared letter by letter",
};

/** The file is whole and known: another copy of it would be refused as well. */
const SIGNED_WITH_RETIRED = /signed with a key that its vendor retired$/;

export const hintFor = (code: string, message = ""): string =>
  SIGNED_WITH_RETIRED.test(message)
    ? "ask the vendor to sign it again with its new key"
    : (HINTS[code] ?? "");
