import { quoteForShell } from "../shell-quote.ts";

/** What follows `berth` in the command that releases the same slot. */
export const releaseCommand = (user: string, product: string): string =>
  `release ${flag("user", user)} ${flag("product", product)}`;

/** What follows `berth` in the command that releases all slots of a product. */
export const releaseAllCommand = (product: string): string =>
  `release --all ${flag("product", product)}`;

/** A value that begins with a dash would be read as the next flag. */
const flag = (name: string, value: string): string =>
  `--${name}${value.startsWith("-") ? "=" : " "}${quoteForShell(value)}`;
