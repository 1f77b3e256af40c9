/** The same act in a terminal; names are quoted where a shell would make something else of them. */
export const releaseCommand = (user: string, product: string): string =>
  `berth release ${flag("user", user)} ${flag("product", product)}`;

/** What begins with a dash would be taken for the next flag. */
const flag = (name: string, value: string): string =>
  `--${name}${value.startsWith("-") ? "=" : " "}${quoteForShell(value)}`;

const quoteForShell = (value: string): string =>
  /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`;
