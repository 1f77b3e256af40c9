/** The command that releases the same slot, with names quoted for a shell. */
export const releaseCommand = (user: string, product: string): string =>
  `berth release ${flag("user", user)} ${flag("product", product)}`;

/** A value that begins with a dash would be read as the next flag. */
const flag = (name: string, value: string): string =>
  `--${name}${value.startsWith("-") ? "=" : " "}${quoteForShell(value)}`;

const quoteForShell = (value: string): string =>
  /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`;
