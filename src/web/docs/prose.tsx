/** The document's own sentences; what stands in backticks is code. */
export const Prose = ({ text }: { text: string }) => (
  <>
    {text
      .split("`")
      .map((part, place) => (place % 2 === 1 ? <code key={place}>{part}</code> : part))}
  </>
);
