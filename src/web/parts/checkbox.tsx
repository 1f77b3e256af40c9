import type { Signal } from "@preact/signals";

export const Checkbox = ({ label, value }: { label: string; value: Signal<boolean> }) => (
  <label class="check">
    <input
      type="checkbox"
      checked={value.value}
      onChange={({ currentTarget }) => (value.value = currentTarget.checked)}
    />
    {label}
  </label>
);
