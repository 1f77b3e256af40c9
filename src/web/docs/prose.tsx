/** A text of the document, with code in backticks. */
export const Prose = ({ text }: { text: string }) => (
  <>
    {text
      .split("`")
      .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
  </>
);
