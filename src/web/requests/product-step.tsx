import { useId } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { useFieldError } from "../parts/form-error.ts";
import { Form } from "../parts/form.tsx";
import { wizard } from "../parts/parts-texts.ts";
import { Select } from "../parts/select.tsx";
import { productStep } from "./request-texts.ts";
import { licenses, trustedVendors } from "../licenses/license-data.ts";
import {
  canChooseHosts,
  createRequest,
  licenseKey,
  note,
  pairHosts,
  productCode,
  wantedHosts,
  wantedSlots,
  wantedUntil,
} from "./request-state.ts";

const MAX_NOTE = 500;

/** The most product buttons; any other product can be typed. */
const MAX_CHOICES = 24;

/** The product and license key to request. */
export function ProductStep({ onBack }: { onBack: () => void }) {
  const products = (trustedVendors.value ?? []).flatMap((vendor) => vendor.products);
  const product = productCode.value.trim();
  const isRenewal =
    licenses.value?.some((license) => license.product_details.short_code === product) === true;
  return (
    <Form
      submitLabel={productStep.createRequest}
      cancelLabel={wizard.back}
      onSubmit={createRequest}
      onCancel={onBack}
    >
      <p>{productStep.text}</p>
      <div class="row choices" role="group" aria-label={productStep.text}>
        {products.slice(0, MAX_CHOICES).map((code) => (
          <button
            key={code}
            type="button"
            class="button"
            aria-pressed={code === product}
            onClick={() => (productCode.value = code)}
          >
            {code}
          </button>
        ))}
      </div>
      <Field
        label={productStep.product}
        name="product"
        value={productCode}
        hint={productStep.productHint}
      />
      {isRenewal && <p>{productStep.renews(product)}</p>}
      <Field
        label={productStep.key}
        name="license_key"
        value={licenseKey}
        hint={productStep.keyHint}
      />
      <HostChoice />
      <fieldset class="wants">
        <legend>{productStep.wants}</legend>
        <p class="hint">{productStep.wantsHint}</p>
        <div class="row">
          <Field label={productStep.slots} name="wanted_slots" type="number" value={wantedSlots} />
          <Field label={productStep.until} name="wanted_until" type="date" value={wantedUntil} />
        </div>
        <NoteField />
      </fieldset>
    </Form>
  );
}

/** Only in a pair: for both of its hosts, or for the one that leads. */
function HostChoice() {
  const { value: pair } = pairHosts;
  if (pair === null || !canChooseHosts.value) return null;
  return (
    <Select
      label={productStep.hosts}
      value={wantedHosts.value}
      onChange={(count) => (wantedHosts.value = count === "1" ? "1" : "2")}
      hint={productStep.hostsHint}
      options={[
        ["2", productStep.bothHosts(pair.names)],
        ["1", productStep.leadingHost(pair.leader)],
      ]}
    />
  );
}

function NoteField() {
  const id = useId();
  const { message, clear } = useFieldError("note", productStep.note);
  return (
    <div class="field">
      <label for={id}>{productStep.note}</label>
      <textarea
        id={id}
        rows={2}
        maxLength={MAX_NOTE}
        value={note.value}
        aria-describedby={`${id}-hint`}
        aria-invalid={message !== undefined}
        onInput={({ currentTarget }) => {
          note.value = currentTarget.value;
          clear();
        }}
      />
      <p class={message === undefined ? "hint" : "hint bad"} id={`${id}-hint`}>
        {message ?? productStep.noteHint(note.value.length, MAX_NOTE)}
      </p>
    </div>
  );
}
