type FieldErrors = Readonly<Record<string, string>>;

const MOST_FIELDS = 100;
const LONGEST_NAME = 200;
const LONGEST_MESSAGE = 1_000;

/** The first 100 fields and what is wrong with each; under `…` stands how many more there are. */
export function boundedErrors(errors: FieldErrors): FieldErrors {
  const all = Object.entries(errors);
  const named = all
    .slice(0, MOST_FIELDS)
    .map(([name, message]) => [cut(name, LONGEST_NAME), cut(message, LONGEST_MESSAGE)] as const);
  const more = all.length - named.length;
  const rest = more === 0 ? [] : [['…', `and ${more} more`] as const];
  return Object.fromEntries([...named, ...rest]);
}

function cut(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest).toWellFormed()}…` : text;
}
