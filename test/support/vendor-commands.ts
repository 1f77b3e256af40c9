import { runOrThrow } from "./run-berth.ts";

/** The command that creates a vendor's desk, without its folder and products. */
export const INIT_DESK = ["vendor", "init", "--no-passphrase", "--name", "Acme"] as const;

/** The flags of a desk and of its root, where `init` puts it. */
export const bothFolders = (desk: string): string[] => ["--dir", desk, "--root", `${desk}-root`];

/** Creates a vendor with these products. */
export async function initDesk(desk: string, ...products: string[]): Promise<void> {
  const flags = products.flatMap((product) => ["--product", product]);
  await runOrThrow([...INIT_DESK, "--dir", desk, ...flags]);
}

/** Flags for a new license or a policy: without an end, unless they or their file set one. */
export const withEnd = (flags: readonly string[]): string[] =>
  flags.includes("--valid-until") || flags.includes("--terms")
    ? [...flags]
    : [...flags, "--valid-until", "never"];
