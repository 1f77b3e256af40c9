export const Method = ({ name }: { name: string }) => (
  <span class={`method ${name.toLowerCase()}`}>{name}</span>
);
