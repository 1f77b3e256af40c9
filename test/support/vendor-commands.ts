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
