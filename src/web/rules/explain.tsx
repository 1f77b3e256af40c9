import { useSignal, type Signal } from "@preact/signals";
import { formatNumber } from "../format.ts";
import { DataTable, type DataColumn } from "../parts/data-table.tsx";
import { Facts } from "../parts/facts.tsx";
import { Field } from "../parts/field.tsx";
import { Notice } from "../parts/notice.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { Select } from "../parts/select.tsx";
import { currentRoute, navigateTo } from "../router.ts";
import { serverStatus } from "../status-stream.ts";
import { useQuery } from "../use-query.ts";
import { explainParams, readCaller, type ExplainedCaller } from "./explain-address.ts";
import { explain as texts } from "./explain-texts.ts";
import { explainRules } from "./rules-data.ts";
import type { ExplanationReply } from "../../http/routes/rules/rules-reply.ts";

/** What the rules decide for one caller, step by step; the caller is in the address. */
export function Explain() {
  const caller = readCaller(currentRoute.value.params);
  return (
    <section class="card rules-explain">
      <h3>{texts.title}</h3>
      <p class="muted">{texts.about}</p>
      <CallerForm key={JSON.stringify(caller)} caller={caller} />
      {caller.user !== "" && <Explanation caller={caller} />}
    </section>
  );
}

function CallerForm({ caller }: { caller: ExplainedCaller }) {
  const products = [...new Set(serverStatus.value?.licenses.map(({ product }) => product))];
  const product = useSignal(caller.product || (products[0] ?? ""));
  const typed = {
    user: useSignal(caller.user),
    host: useSignal(caller.host),
    from: useSignal(caller.from),
    login: useSignal(caller.login),
    feature: useSignal(caller.feature),
  };
  const isWithoutUser = useSignal(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    isWithoutUser.value = typed.user.value.trim() === "";
    if (isWithoutUser.value) return;
    const next = { ...valuesOf(typed), product: product.value };
    navigateTo("rules", ...explainParams(next));
  };
  const { fields, hints } = texts;
  if (products.length === 0 && caller.product === "") return <p class="muted">{texts.noProduct}</p>;
  return (
    <form class="explain-form" onSubmit={submit}>
      <Field
        label={fields.user}
        value={typed.user}
        {...(isWithoutUser.value && { error: texts.needsUser })}
      />
      <Select
        label={fields.product}
        value={product.value}
        options={[...new Set([...products, product.value])].map((name) => [name, name] as const)}
        onChange={(name) => (product.value = name)}
      />
      <Field label={fields.feature} value={typed.feature} hint={hints.feature} />
      <Field label={fields.host} value={typed.host} hint={hints.host} />
      <Field label={fields.from} value={typed.from} hint={hints.from} />
      <Field label={fields.login} value={typed.login} hint={hints.login} />
      <button type="submit" class="button">
        {texts.act}
      </button>
    </form>
  );
}

const valuesOf = <Name extends string>(
  typed: Readonly<Record<Name, Signal<string>>>,
): Record<Name, string> =>
  Object.fromEntries(
    Object.entries<Signal<string>>(typed).map(([name, { value }]) => [name, value.trim()]),
  ) as Record<Name, string>;

function Explanation({ caller }: { caller: ExplainedCaller }) {
  const query = useQuery((cancelled) => explainRules(caller, cancelled), [JSON.stringify(caller)]);
  return (
    <div class="explanation">
      <QueryContent query={query}>{(reply) => <Answer reply={reply} />}</QueryContent>
    </div>
  );
}

function Answer({ reply }: { reply: ExplanationReply }) {
  const { person, groups, home, slots, steps, register, borrow } = reply;
  const { facts } = texts;
  return (
    <>
      <Outcome outcome={register} sentences={texts.outcomes.register} />
      <p>
        {texts.slots(
          formatNumber(slots.in_use),
          formatNumber(slots.total),
          formatNumber(slots.holds),
          formatNumber(slots.free),
        )}
      </p>
      <Facts
        as="lines"
        facts={[
          [facts.person, person],
          [facts.groups, groups.length === 0 ? facts.none : groups.join(", ")],
          [facts.home, home ?? facts.none],
        ]}
      />
      <h4>{texts.steps}</h4>
      <DataTable
        name={texts.steps}
        columns={COLUMNS}
        rows={steps}
        keyOf={(step) => JSON.stringify(step)}
        firstRows={50}
        canSave={false}
        empty={texts.noSteps}
      />
      {borrow !== null && <Outcome outcome={borrow} sentences={texts.outcomes.borrow} />}
    </>
  );
}

type OutcomeReply = ExplanationReply["register"];

interface OutcomeProps {
  readonly outcome: OutcomeReply;
  readonly sentences: Readonly<Record<OutcomeReply["result"], string>>;
}

const Outcome = ({ outcome: { result, message, can_wait }, sentences }: OutcomeProps) => (
  <Notice kind={result === "refused" ? "warn" : "good"} title={sentences[result]}>
    {message !== null && <p>{message}</p>}
    {can_wait && <p>{texts.canWait}</p>}
  </Notice>
);

type Step = ExplanationReply["steps"][number];

const COLUMNS: readonly DataColumn<Step>[] = [
  { title: texts.columns.rule, value: ({ rule }) => rule },
  { title: texts.columns.line, value: ({ line }) => (line === 0 ? null : line), isNumber: true },
  {
    title: texts.columns.result,
    value: ({ result }) => texts.results[result] ?? result,
    show: ({ result }) => (
      <span class={result === "refuses" ? "bad" : ""}>{texts.results[result] ?? result}</span>
    ),
  },
  { title: texts.columns.text, value: ({ text }) => text },
];
