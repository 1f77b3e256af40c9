import type { VerifyReply } from "../../http/running-server.ts";
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
  if (!found.intact) {
    return (
      <Notice kind="bad" title={chain.broken}>
        <p>{found.finding}</p>
        <p>{found.remedy}</p>
        {said}
      </Notice>
    );
  }
  return (
    <Notice kind="good" title={`✓ ${chain.whole}`}>
      <p>{linesOf(found)}</p>
      {found.audit_gaps.length > 0 && <Gaps gaps={found.audit_gaps} />}
      <p>
        {chain.ends(number(found.audit_seq))} <code>{found.audit_sum}</code>
      </p>
      {said}
    </Notice>
  );
}

type Whole = Extract<VerifyReply, { intact: true }>;

function linesOf({ audit_from, audit_to, audit_files, audit_gaps }: Whole): string {
  if (audit_to < audit_from) return chain.empty;
  const [from, to] = [number(audit_from), number(audit_to)];
  const files = chain.files(audit_files);
  return audit_gaps.length === 0 ? chain.facts(from, to, files) : chain.gapped(from, to, files);
}

/** Nothing is called whole without a word about what was declared as gone. */
const Gaps = ({ gaps }: { gaps: Whole["audit_gaps"] }) => (
  <ul>
    {gaps.map(({ from_line, to_line, reason, declared_at }) => (
      <li key={from_line}>
        {chain.gap(number(from_line), number(to_line), reason, when(declared_at))}
      </li>
    ))}
  </ul>
);
