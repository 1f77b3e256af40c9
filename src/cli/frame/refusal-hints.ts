/** Hints for the operator, by the code of the refusal. */
export const REFUSAL_HINTS: Readonly<Record<string, string>> = {
  audit_maintenance_incomplete: "check the disk with berth doctor",
  clock_suspect: "berth clock shows which clock is wrong and what to do",
  early_return_not_allowed: "berth slots shows when the borrow ends",
  hardware_mismatch: "create a new request with berth license request",
  invalid_confirmation_code:
    "ask the vendor to read it out again, or start again with berth airgap request",
  invalid_license_file: "berth vendor inspect FILE shows the kind of a file",
  last_credential: "create another credential first: berth admin token or berth admin password",
  license_not_found: "berth license list shows what is installed",
  audit_month_damaged: "repair the audit log with berth audit repair",
  audit_month_empty: "berth audit --limit 1 shows the newest entry; months are in UTC",
  outdated_confirmation_code:
    "the activation code stays valid; ask the vendor to update its desk and confirm it again",
  policy_mismatch: "omit --policy-id, or use the policy that it belongs to",
  audit_log_damaged:
    "berth verify shows what is damaged; berth audit repair repairs what can be repaired",
  request_unknown: "create a new request with berth license request",
  request_used: "create a new request with berth license request",
  slots_borrowed: "berth slots shows who borrows them; --with-borrows returns the license anyway",
  stale_license:
    "berth license list shows what is installed; berth license request requests a newer one",
  storage_failed: "check the disk; berth doctor shows details",
  storage_full: "free space on the disk of the data folder",
  unknown_name: "berth admin user list shows all names",
  unknown_product: "berth license list shows what is installed; product codes are case-sensitive",
  unknown_vendor: "berth trust list shows all vendors",
  untrusted_vendor:
    "add the vendor's trust document, or a newer successor document, with berth trust add FILE",
  user_not_registered: "berth slots lists the slots in use; user names are case-sensitive",
};

/** The file is intact and its vendor known: another copy of it would be refused as well. */
const SIGNED_WITH_RETIRED = /signed with a key that its vendor retired$/;

export const refusalHint = (code: string, message = ""): string =>
  SIGNED_WITH_RETIRED.test(message)
    ? "ask the vendor to sign it again with its new key"
    : (REFUSAL_HINTS[code] ?? "");
