import { formatNumber } from "../format.ts";
import { docs } from "./docs-texts.ts";
import { curlCommand, type Caller } from "./curl.ts";
import { CurlCommand } from "./curl-view.tsx";
import type { Operation, RequestField } from "./document.ts";
import { Method } from "./method.tsx";
import { Prose } from "./prose.tsx";
import { Refusals } from "./refusals.tsx";
import { Replies } from "./replies.tsx";
import { exampleValues, buildRequest } from "./outgoing-request.ts";
import { TryIt } from "./try-it.tsx";

/** One operation: its fields, replies and refusals, and a form to try it. */
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
          <strong>{docs.planes[plane]}</strong> {docs.planeDescriptions[plane]}
        </p>
      </header>
      <section class="card">
        <h3>{docs.request}</h3>
        {fields.length === 0 ? <p>{docs.noFields}</p> : <Fields fields={fields} />}
        <h3>{docs.example}</h3>
        <CurlCommand command={exampleCommand(operation)} />
        {plane === "admin" && <p class="hint">{docs.tokenHint}</p>}
      </section>
      <TryIt operation={operation} />
      <section class="card">
        <h3>{docs.reply}</h3>
        <Replies replies={replies} />
      </section>
      <section class="card">
        <h3>{docs.refusals}</h3>
        <Refusals list={refusals} />
        <p class="hint">
          {refusals.length > 0 ? docs.alsoCommonRefusals : docs.onlyCommonRefusals}
        </p>
      </section>
    </article>
  );
}

const CALLERS: Readonly<Record<Operation["plane"], Caller>> = {
  open: "anonymous",
  client: "anonymous",
  login: { user: "ada" },
  admin: "token",
};

function exampleCommand(operation: Operation): string {
  const values = exampleValues(operation, Date.now());
  const mode = operation.canUploadFile ? "file" : "fields";
  const file = operation.canUploadFile ? new File([], "answer.jwt") : null;
  const request = buildRequest(operation, { values, mode, body: "", file });
  return curlCommand(location.origin, request, CALLERS[operation.plane]);
}

const Fields = ({ fields }: { fields: readonly RequestField[] }) => (
  <ul class="parts">
    {fields.map((field) => (
      <li key={field.name}>
        <code class="name">{field.name}</code> <span class="type">{fieldDescription(field)}</span>
        {field.isRequired && <strong class="required">{docs.required}</strong>}
        <p>
          <Prose text={field.description} />
        </p>
      </li>
    ))}
  </ul>
);

function fieldDescription({ type, isTime, location, maxBytes }: RequestField): string {
  const limit = maxBytes === null ? "" : docs.atMost(formatNumber(maxBytes));
  const parts = [type, isTime ? docs.time : "", docs.fieldLocations[location], limit];
  return parts.filter((part) => part !== "").join(" · ");
}
