import { quoteForShell } from "../../platform/shell-quote.ts";

/** Quotes a name in a command only if a shell would change it. */
export const quoteArgument = (text: string): string =>
  /^[\w.@:/+-]+$/.test(text) ? text : quoteForShell(text);
