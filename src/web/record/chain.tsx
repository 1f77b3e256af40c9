import type { VerifyReply } from "../../http/served.ts";
import { number, when } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Notice } from "../parts/notice.tsx";
import { record } from "../texts/record.ts";
import { check, checked } from "./verified.ts";

const { chain } = record;

/** A mark that has to be earned: nothing is said to be whole that nobody has looked at. */
export function Chain() {
  const { value: last } = checked;
  return (
    <div class="chain">
      <div class="row">
        <Button onClick={check}>{last === null ? chain.check : chain.again}</Button>
        {last === null && <span class="quiet">{chain.never}</span>}
      </div>
      {last !== null && <Found found={last.found} at={last.at} />}
    </div>
  );
}

function Found({ found, at }: { found: VerifyReply; at: string }) {
  const said = <p class="quiet">{chain.checkedAt(when(at))}</p>;
  if (!found.whole) {
    return (
      <Notice kind="bad" title={chain.broken}>
        <p>{found.found}</p>
        <p>{found.advice}</p>
        {said}
      </Notice>
    );
  }
  return (
    <Notice kind="good" title={`✓ ${chain.whole}`}>
      <p>{linesOf(found)}</p>
      <p>
        {chain.ends(number(found.audit_seq))} <code>{found.audit_sum}</code>
      </p>
      {said}
    </Notice>
  );
}

function linesOf({
  record_from,
  record_lines,
  record_files,
}: Extract<VerifyReply, { whole: true }>): string {
  if (record_lines === 0) return chain.empty;
  const last = record_from + record_lines - 1;
  return chain.facts(number(record_from), number(last), chain.files(record_files));
}
