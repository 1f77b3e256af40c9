import { number } from "../format.ts";
import { docs } from "../texts/docs.ts";
import { curlLine, type Caller } from "./curl.ts";
import { Curl } from "./curl-view.tsx";
import type { Operation, RequestField } from "./document.ts";
import { Method } from "./method.tsx";
import { Prose } from "./prose.tsx";
import { Refusals } from "./refusals.tsx";
import { Replies } from "./replies.tsx";
import { exampleValues, sendingOf } from "./sending.ts";
import { TryIt } from "./try-it.tsx";

/** All there is to know about one call, and a way to make it. */
export function OperationPage({ operation }: { operation: Operation }) {
  const { method, path, summary, description, plane, fields, replies, refusals } = operation;
  return (
    <article class="operation">
      <header>
        <h2>{summary}</h2>
        <p class="line">
          <Method name={method} /> <code>{path}</code>
        </p>
        <p>
          <Prose text={description} />
        </p>
        <p class="plane">
          <strong>{docs.planes[plane]}</strong> {docs.planeMeans[plane]}
        </p>
      </header>
      <section class="card">
        <h3>{docs.request}</h3>
        {fields.length === 0 ? <p>{docs.nothing}</p> : <Fields fields={fields} />}
        <h3>{docs.example}</h3>
        <Curl line={exampleLine(operation)} />
        {plane === "admin" && <p class="hint">{docs.tokenHint}</p>}
      </section>
      <TryIt operation={operation} />
      <section class="card">
        <h3>{docs.reply}</h3>
        <Replies kinds={replies} />
      </section>
      <section class="card">
        <h3>{docs.refusals}</h3>
        <Refusals list={refusals} />
        <p class="hint">{refusals.length > 0 ? docs.also : docs.onlyAny}</p>
      </section>
    </article>
  );
}

const CALLERS: Readonly<Record<Operation["plane"], Caller>> = {
  open: "nobody",
  client: "nobody",
  login: { user: "ada" },
  admin: "token",
};

function exampleLine(operation: Operation): string {
  const values = exampleValues(operation, Date.now());
  const mode = operation.takesFile ? "file" : "fields";
  const file = operation.takesFile ? new File([], "answer.jwt") : null;
  const sending = sendingOf(operation, { values, mode, body: "", file });
  return curlLine(location.origin, sending, CALLERS[operation.plane]);
}

const Fields = ({ fields }: { fields: readonly RequestField[] }) => (
  <ul class="parts">
    {fields.map((field) => (
      <li key={field.name}>
        <code class="name">{field.name}</code> <span class="type">{kindOf(field)}</span>
        {field.needed && <strong class="needed">{docs.needed}</strong>}
        <p>
          <Prose text={field.description} />
        </p>
      </li>
    ))}
  </ul>
);

function kindOf({ type, isTime, place, maxBytes }: RequestField): string {
  const limit = maxBytes === null ? "" : docs.atMost(number(maxBytes));
  const parts = [type, isTime ? docs.time : "", docs.places[place], limit];
  return parts.filter((part) => part !== "").join(" · ");
}
