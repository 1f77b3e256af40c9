import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { docs } from "../texts/docs.ts";
import type { Operation, RequestField } from "./document.ts";
import { bodyOf, type Filled, type Mode } from "./sending.ts";

interface Props {
  readonly operation: Operation;
  readonly filled: Signal<Filled>;
}

/** Everything that a request can carry, made of the schema that judges it. */
export function RequestForm({ operation, filled }: Props) {
  const { mode } = filled.value;
  const fields = operation.fields.filter(({ place }) => place !== "body" || mode === "fields");
  return (
    <>
      {operation.takesBody && <Modes operation={operation} filled={filled} />}
      {fields.map((field) => (
        <Line key={field.name} field={field} filled={filled} />
      ))}
      {fields.length > 0 && <p class="hint">{docs.tryIt.empty}</p>}
      {operation.takesBody && (mode === "json" || mode === "text") && <Text filled={filled} />}
      {operation.takesBody && mode === "file" && <Document filled={filled} />}
    </>
  );
}

function change(filled: Signal<Filled>, part: Partial<Filled>): void {
  filled.value = { ...filled.value, ...part };
}

function Modes({ operation, filled }: Props) {
  const id = useId();
  const modes: readonly Mode[] = operation.takesFile
    ? ["file", "text", "fields", "json"]
    : ["fields", "json"];
  const choose = (mode: Mode): void => {
    // What is written by hand begins with what was filled in.
    const body = mode === "json" ? bodyOf(operation, filled.value.values) : "";
    change(filled, { mode, body });
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

function Line({ field, filled }: { field: RequestField; filled: Signal<Filled> }) {
  const { name, place, needed } = field;
  const id = useId();
  const set = (value: string): void =>
    change(filled, { values: { ...filled.value.values, [name]: value } });
  return (
    <div class="field">
      <label for={id}>
        {name}
        {needed && <span class="needed">{docs.needed}</span>}
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
          <Button onClick={() => set(freshKey())} label={docs.tryIt.fresh(name)}>
            {docs.tryIt.fresh("")}
          </Button>
        )}
      </div>
    </div>
  );
}

/** 128 random bits, also at a plain address, where browsers make no UUIDs. */
function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function Text({ filled }: { filled: Signal<Filled> }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{docs.tryIt.body}</label>
      <textarea
        id={id}
        rows={8}
        spellcheck={false}
        value={filled.value.body}
        onInput={(event) => change(filled, { body: event.currentTarget.value })}
      />
    </div>
  );
}

function Document({ filled }: { filled: Signal<Filled> }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{docs.tryIt.file}</label>
      <input
        id={id}
        type="file"
        onChange={({ currentTarget: { files } }) => change(filled, { file: files?.[0] ?? null })}
      />
    </div>
  );
}
