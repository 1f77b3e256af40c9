import type { Signal } from "@preact/signals";

/** Yes or no. */
export const Check = ({ label, value }: { label: string; value: Signal<boolean> }) => (
  <label class="check">
    <input
      type="checkbox"
      checked={value.value}
      onChange={({ currentTarget }) => (value.value = currentTarget.checked)}
    />
    {label}
  </label>
);
