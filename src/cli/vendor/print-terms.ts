import { describeTerms } from "../../desk/issuing/describe-terms.ts";
import type { TermsDocument } from "../../license/terms/terms.ts";
import { printDetails, printNote } from "../frame/terminal.ts";

/** Prints all terms before they are signed; with --json, the result contains them instead. */
export function printTerms(name: string, terms: TermsDocument, { json }: { json: boolean }): void {
  if (json) return;
  printNote(`terms of ${name}:`);
  printDetails(describeTerms(terms));
}
