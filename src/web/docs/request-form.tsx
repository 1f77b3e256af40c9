import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { docs } from "../texts/docs.ts";
import type { Operation, RequestField } from "./document.ts";
import { jsonBodyOf, type RequestFormState, type BodyMode } from "./outgoing-request.ts";

interface Props {
  readonly operation: Operation;
  readonly form: Signal<RequestFormState>;
}

/** Everything that a request can carry, made of the schema that judges it. */
export function RequestForm({ operation, form: filled }: Props) {
  const { mode } = filled.value;
  const fields = operation.fields.filter(
    ({ location: place }) => place !== "body" || mode === "fields",
  );
  return (
    <>
      {operation.hasBody && <ModeChoice operation={operation} form={filled} />}
      {fields.map((field) => (
        <FieldInput key={field.name} field={field} form={filled} />
      ))}
      {fields.length > 0 && <p class="hint">{docs.tryIt.empty}</p>}
      {operation.hasBody && (mode === "json" || mode === "text") && <BodyInput form={filled} />}
      {operation.hasBody && mode === "file" && <FileInput form={filled} />}
    </>
  );
}

function updateForm(filled: Signal<RequestFormState>, part: Partial<RequestFormState>): void {
  filled.value = { ...filled.value, ...part };
}

function ModeChoice({ operation, form: filled }: Props) {
  const id = useId();
  const modes: readonly BodyMode[] = operation.canUploadFile
    ? ["file", "text", "fields", "json"]
    : ["fields", "json"];
  const choose = (mode: BodyMode): void => {
    // What is written by hand begins with what was filled in.
    const body = mode === "json" ? jsonBodyOf(operation, filled.value.values) : "";
    updateForm(filled, { mode, body });
  };
  return (
    <fieldset class="modes">
      <legend>{docs.tryIt.mode}</legend>
      {modes.map((mode) => (
        <label key={mode}>
          <input
            type="radio"
            name={id}
            checked={filled.value.mode === mode}
            onChange={() => choose(mode)}
          />
          {docs.tryIt.modes[mode]}
        </label>
      ))}
    </fieldset>
  );
}

function FieldInput({
  field,
  form: filled,
}: {
  field: RequestField;
  form: Signal<RequestFormState>;
}) {
  const { name, location: place, isRequired: needed } = field;
  const id = useId();
  const set = (value: string): void =>
    updateForm(filled, { values: { ...filled.value.values, [name]: value } });
  return (
    <div class="field">
      <label for={id}>
        {name}
        {needed && <span class="needed">{docs.required}</span>}
      </label>
      <div class="row joined">
        <input
          id={id}
          value={filled.value.values[name] ?? ""}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => set(event.currentTarget.value)}
        />
        {place === "header" && (
          <Button onClick={() => set(randomKey())} label={docs.tryIt.generate(name)}>
            {docs.tryIt.generate("")}
          </Button>
        )}
      </div>
    </div>
  );
}

/** 128 random bits, also at a plain address, where browsers make no UUIDs. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function BodyInput({ form: filled }: { form: Signal<RequestFormState> }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{docs.tryIt.body}</label>
      <textarea
        id={id}
        rows={8}
        spellcheck={false}
        value={filled.value.body}
        onInput={(event) => updateForm(filled, { body: event.currentTarget.value })}
      />
    </div>
  );
}

function FileInput({ form: filled }: { form: Signal<RequestFormState> }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{docs.tryIt.file}</label>
      <input
        id={id}
        type="file"
        onChange={({ currentTarget: { files } }) =>
          updateForm(filled, { file: files?.[0] ?? null })
        }
      />
    </div>
  );
}
