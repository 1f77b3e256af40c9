/** On every reply, so that a client notices that two of its URLs are two unrelated servers. */
export const APPLIANCE_HEADER = "berth-appliance";
