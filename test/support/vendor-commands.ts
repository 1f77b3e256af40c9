/** The command that creates a vendor's desk, without its folder and products. */
export const INIT_DESK = ["vendor", "init", "--no-passphrase", "--name", "Acme"] as const;
