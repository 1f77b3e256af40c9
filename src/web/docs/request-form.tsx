import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { docs } from "./docs-texts.ts";
import type { Operation, RequestField } from "./document.ts";
import { jsonBodyOf, type RequestFormState, type BodyMode } from "./outgoing-request.ts";

interface Props {
  readonly operation: Operation;
  readonly form: Signal<RequestFormState>;
}

/** The form for a request, generated from the schema that validates it. */
export function RequestForm({ operation, form }: Props) {
  const { mode } = form.value;
  const fields = operation.fields.filter(
    ({ location }) => location !== "body" || mode === "fields",
  );
  return (
    <>
      {operation.hasBody && <ModeChoice operation={operation} form={form} />}
      {fields.map((field) => (
        <FieldInput key={field.name} field={field} form={form} />
      ))}
      {fields.length > 0 && <p class="hint">{docs.tryIt.empty}</p>}
      {operation.hasBody && (mode === "json" || mode === "text") && <BodyInput form={form} />}
      {operation.hasBody && mode === "file" && <FileInput form={form} />}
    </>
  );
}

function updateForm(form: Signal<RequestFormState>, changes: Partial<RequestFormState>): void {
  form.value = { ...form.value, ...changes };
}

function ModeChoice({ operation, form }: Props) {
  const id = useId();
  const modes: readonly BodyMode[] = operation.canUploadFile
    ? ["file", "text", "fields", "json"]
    : ["fields", "json"];
  const choose = (mode: BodyMode): void => {
    // The JSON editor starts with the fields that were filled in.
    const body = mode === "json" ? jsonBodyOf(operation, form.value.values) : "";
    updateForm(form, { mode, body });
  };
  return (
    <fieldset class="modes">
      <legend>{docs.tryIt.mode}</legend>
      {modes.map((mode) => (
        <label key={mode}>
          <input
            type="radio"
            name={id}
            checked={form.value.mode === mode}
            onChange={() => choose(mode)}
          />
          {docs.tryIt.modes[mode]}
        </label>
      ))}
    </fieldset>
  );
}

function FieldInput({ field, form }: { field: RequestField; form: Signal<RequestFormState> }) {
  const { name, location, isRequired } = field;
  const id = useId();
  const set = (value: string): void =>
    updateForm(form, { values: { ...form.value.values, [name]: value } });
  return (
    <div class="field">
      <label for={id}>
        {name}
        {isRequired && <span class="required">{docs.required}</span>}
      </label>
      <div class="row joined">
        <input
          id={id}
          value={form.value.values[name] ?? ""}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => set(event.currentTarget.value)}
        />
        {location === "header" && (
          <Button onClick={() => set(randomKey())} label={docs.tryIt.generate(name)}>
            {docs.tryIt.generate("")}
          </Button>
        )}
      </div>
    </div>
  );
}

/** 128 random bits; crypto.randomUUID is not available over plain HTTP. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function BodyInput({ form }: { form: Signal<RequestFormState> }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{docs.tryIt.body}</label>
      <textarea
        id={id}
        rows={8}
        spellcheck={false}
        value={form.value.body}
        onInput={(event) => updateForm(form, { body: event.currentTarget.value })}
      />
    </div>
  );
}

function FileInput({ form }: { form: Signal<RequestFormState> }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{docs.tryIt.file}</label>
      <input
        id={id}
        type="file"
        onChange={({ currentTarget: { files } }) => updateForm(form, { file: files?.[0] ?? null })}
      />
    </div>
  );
}
