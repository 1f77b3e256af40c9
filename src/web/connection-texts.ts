export const connection = {
  noAnswer: "The server does not answer.",
  outcomeUnknown:
    "The server did not answer. The change may have been made: look again before you repeat it.",
} as const;
