export const overview = {
  title: "Overview",
  inUse: (used: string, all: string) => `${used} of ${all} slots in use`,
  free: (free: string) => `${free} free`,
  full: "full",
  over: (more: string) => `${more} more than the license allows`,
  validUntil: (end: string) => `expires ${end}`,
  noExpiry: "no expiry",
  expired: "expired",
  consumed: (total: string, max: string) => `${total} of ${max} consumed`,
  consumedOver: (over: string) => `${over} over`,
  noLicense: {
    title: "No license yet",
    text: "Licenses come from a vendor: add the vendor’s trust file, create a request, send it to the vendor, and install the file that comes back.",
    request: "Request a license",
    add: "Add a license file",
  },
  attention: "Needs attention",
  noAttention: "Nothing needs attention.",
  health: {
    title: "This appliance",
    disk: "Disk",
    diskFaults: { storage_full: "full", storage_failed: "failed" } as Readonly<
      Record<string, string>
    >,
    diskOk: (free: string) => `OK, ${free} free`,
    sync: "Slowest sync",
    certificate: "Certificate",
    noCertificate: "plain HTTP only",
    until: (end: string) => `valid until ${end}`,
    changes: "Changes written",
    hardware: "Hardware",
    weakBinding: "weak hardware binding",
    bound: (parts: string) => `bound to ${parts}`,
    exposures: "Exposures",
    noExposures: "none",
    version: "Version",
  },
  refusal: (product: string, reason: string) => `${product}: ${reason}, no slots available`,
  drift: (product: string, parts: string) =>
    `${product}: ${parts} changed since the license was issued; request a new license before more hardware changes`,
  moved: (product: string, until: string) =>
    `${product} was issued for the previous host and is valid here until ${until}`,
  atLimit: (product: string) => `${product}: all slots in use`,
  expires: (product: string, ending: string) => `${product} ${ending}`,
  viewHolders: "View users",
  renew: "Request a renewal",
  /** By the code of the storage fault. */
  diskFaults: {
    storage_full: "The disk is full: no changes are accepted until disk space is available.",
    storage_failed:
      "The disk failed: no changes are accepted. Check the disk and the server’s log.",
  } as Readonly<Record<string, string>>,
} as const;
